// Reasons why a process does not answer, read from /proc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/core/ids.h"

namespace swipr::session {

// Returns the reason and the remedy as the predicate of a sentence whose subject is the process;
// nullopt if /proc shows no reason.
std::optional<std::string> find_reason_for_silence(Pid pid);

// Parses the soft limit of open files from /proc/PID/limits; nullopt: unlimited, or no such line.
std::optional<std::uint64_t> parse_open_file_limit(std::string_view limits);

}  // namespace swipr::session
