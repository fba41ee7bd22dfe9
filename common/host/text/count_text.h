// Numbers in messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace swipr::host {

// 1234567 → "1,234,567"
std::string with_thousands(std::uint64_t number);

// "1 thread", "1,000 threads"
std::string counted(std::uint64_t number, std::string_view noun);

}  // namespace swipr::host
