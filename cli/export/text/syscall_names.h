// Names of the system calls in which threads wait.
#pragma once

#include <cstdint>
#include <string_view>

namespace swipr::exporters {

// Empty: not a system call in which threads usually wait.
std::string_view find_syscall_name(std::uint32_t number);

}  // namespace swipr::exporters
