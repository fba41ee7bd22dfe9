// Text about language runtimes.
#pragma once

#include <string>
#include <string_view>

namespace swipr::host {

// "python 3.15: frames are not read (unknown version)". Empty arguments: unknown.
std::string describe_refusal(std::string_view language, std::string_view version,
                             std::string_view reason);

}  // namespace swipr::host
