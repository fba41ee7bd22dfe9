// Names of the system calls in which threads wait.
#pragma once

#include <cstdint>
#include <string>

namespace swipr::importers {

// "poll"; "syscall 4711": another one than threads usually wait in. `machine`: e_machine of ELF.
std::string syscall_name(std::uint64_t machine, std::uint64_t number);

}  // namespace swipr::importers
