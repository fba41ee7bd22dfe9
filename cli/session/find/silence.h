// Why a process does not answer, as far as /proc tells.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/core/ids.h"

namespace swipr::session {

// The end of a sentence that starts with the process: what is wrong with it and what to do;
// nullopt: nothing that can be seen from outside.
std::optional<std::string> find_reason_for_silence(Pid pid);

// Soft limit of open files in the text of /proc/PID/limits; nullopt: unlimited or no such line.
std::optional<std::uint64_t> parse_open_file_limit(std::string_view limits);

}  // namespace swipr::session
