// Text about language runtimes.
#pragma once

#include <string>
#include <string_view>

namespace swipr::host {

// "python 3.15: frames are not read (debug build)". Empty arguments: unknown.
std::string describe_refusal(std::string_view language, std::string_view version,
                             std::string_view reason);

// "python 3.11.2: frames are read", or the refusal if there is a reason.
std::string describe_runtime(std::string_view language, std::string_view version,
                             std::string_view refusal);

}  // namespace swipr::host
