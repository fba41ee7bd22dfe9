// Reads process information from /proc. Parsers work on untrusted text in memory, because a
// process chooses its own name, arguments and environment. Readers open the files.
// Errors: no such process, or not permitted; the message names the file.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/ids.h"
#include "common/host/result.h"

namespace swipr::host {

struct ProcessStatus {
  std::string name;
  char state = '?';
  Pid group;  // the process that the id belongs to: differs from the id asked for if that is a
              // thread
  Pid parent;
  Pid namespace_pid;  // in the PID namespace of the process
  uid_t uid = 0;      // effective
  std::uint32_t threads = 0;
};

// Text of /proc/PID/status.
Result<ProcessStatus> parse_process_status(std::string_view text);
struct ProcessStat {
  std::string name;
  char state = '?';
  Pid parent;
  std::uint64_t cpu_ticks = 0;  // user and system time of all its threads, in clock ticks
  std::uint64_t start_ticks = 0;
  // Where its environment ends. 0: in the middle of an exec, or not permitted, or not in the text.
  std::uint64_t environment_end = 0;
};
// Text of /proc/PID/stat, which is cheaper to make than status. The name may hold anything.
std::optional<ProcessStat> parse_process_stat(std::string_view text);
// Field 22 of /proc/PID/stat, in clock ticks since boot. The name in field 2 may hold anything.
std::optional<std::uint64_t> parse_start_ticks(std::string_view stat_text);
// The value of `name` in NUL-separated NAME=VALUE entries.
std::optional<std::string> find_variable(std::string_view environment, std::string_view name);
// NUL-separated arguments.
std::vector<std::string> split_arguments(std::string_view text);

// All of a file that has no size beforehand.  Bounds: the first `limit` bytes.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{1} << 20);

// "/proc/PID/FILE"
std::string proc_path(Pid pid, std::string_view file);

bool process_exists(Pid pid);
std::vector<Pid> list_processes();
Result<ProcessStatus> read_process_status(Pid pid);
std::optional<ProcessStat> read_process_stat(Pid pid);
std::vector<std::string> read_command_line(Pid pid);  // empty: unreadable, or a kernel thread
std::optional<std::chrono::nanoseconds> read_process_age(Pid pid);
// Identity of a namespace ("mnt", "pid"); nullopt: not permitted or gone.
std::optional<std::uint64_t> read_namespace_inode(Pid pid, std::string_view kind);

}  // namespace swipr::host
