#include "common/host/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>

#include "common/host/unique_fd.h"

namespace swipr::host {

namespace {

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

// The `index`th blank-separated field.
std::string_view field(std::string_view text, std::size_t index) {
  for (;;) {
    text = without_blanks(text);
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    if (index-- == 0 || text.empty()) return text.substr(0, end);
    text.remove_prefix(end);
  }
}

std::string_view last_field(std::string_view text) {
  const std::size_t start = text.find_last_of(" \t");
  return start == std::string_view::npos ? text : text.substr(start + 1);
}

void apply_status_line(std::string_view key, std::string_view value, ProcessStatus& status) {
  if (key == "Name") {
    status.name = value;
  } else if (key == "State") {
    status.state = value.empty() ? '?' : value.front();
  } else if (key == "Tgid") {
    status.group.value = parse_number<std::int32_t>(value).value_or(0);
  } else if (key == "PPid") {
    status.parent.value = parse_number<std::int32_t>(value).value_or(0);
  } else if (key == "NSpid") {
    status.namespace_pid.value = parse_number<std::int32_t>(last_field(value)).value_or(0);
  } else if (key == "Uid") {  // real, effective, saved, file system
    status.uid = parse_number<uid_t>(field(value, 1)).value_or(0);
  } else if (key == "Threads") {
    status.threads = parse_number<std::uint32_t>(value).value_or(0);
  }
}

}  // namespace

Result<ProcessStatus> parse_process_status(std::string_view text) {
  ProcessStatus status;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    apply_status_line(line.substr(0, colon), without_blanks(line.substr(colon + 1)), status);
  }
  if (status.group.value <= 0) return Error("status of a process lacks its Tgid line");
  if (status.namespace_pid.value <= 0) status.namespace_pid = status.group;  // kernels before 4.1
  return status;
}

std::optional<std::uint64_t> parse_start_ticks(std::string_view stat_text) {
  const std::size_t name_end = stat_text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  // The first field behind the name is number 3.
  return parse_number<std::uint64_t>(field(stat_text.substr(name_end + 1), 22 - 3));
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t name_begin = text.find('(');
  const std::size_t name_end = text.rfind(')');
  if (name_begin == std::string_view::npos || name_end == std::string_view::npos) {
    return std::nullopt;
  }
  // The first field behind the name is number 3.
  const std::string_view rest = text.substr(name_end + 1);
  const auto number = [rest](std::size_t index) {
    return parse_number<std::uint64_t>(field(rest, index - 3));
  };
  const auto parent = parse_number<std::int32_t>(field(rest, 4 - 3));
  const auto user = number(14), system = number(15), start = number(22);
  const std::string_view state = field(rest, 0);
  if (!parent || !user || !system || !start || state.empty()) return std::nullopt;
  return ProcessStat{.name = std::string(text.substr(name_begin + 1, name_end - name_begin - 1)),
                     .state = state.front(),
                     .parent = Pid{*parent},
                     .cpu_ticks = *user + *system,
                     .start_ticks = *start,
                     .environment_end = number(51).value_or(0)};
}

std::optional<std::string> find_variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view entry = environment.substr(0, end);
    environment.remove_prefix(std::min(end + 1, environment.size()));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string(entry.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return arguments;
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  std::string text;
  while (text.size() < limit) {
    const std::size_t old_size = text.size();
    text.resize(std::min(limit, old_size + 16384));
    const ssize_t count = ::read(fd.value(), text.data() + old_size, text.size() - old_size);
    text.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && errno != EINTR) return system_error(path, errno);
    if (count == 0) break;
  }
  return text;
}

std::string proc_path(Pid pid, std::string_view file) {
  return fmt::format("/proc/{}/{}", pid.value, file);
}

bool process_exists(Pid pid) {
  struct stat info {};
  return pid.value > 0 && ::stat(fmt::format("/proc/{}", pid.value).c_str(), &info) == 0;
}

std::vector<Pid> list_processes() {
  std::vector<Pid> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) return pids;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string_view::npos) continue;
    if (const auto pid = parse_number<std::int32_t>(name)) pids.push_back(Pid{*pid});
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

Result<ProcessStatus> read_process_status(Pid pid) {
  auto text = read_file(proc_path(pid, "status"));
  if (!text) return text.error();
  return parse_process_status(*text);
}

std::optional<ProcessStat> read_process_stat(Pid pid) {
  const auto text = read_file(proc_path(pid, "stat"), 4096);
  return text ? parse_process_stat(*text) : std::nullopt;
}

std::vector<std::string> read_command_line(Pid pid) {
  const auto text = read_file(proc_path(pid, "cmdline"));
  return text ? split_arguments(*text) : std::vector<std::string>();
}

std::optional<std::chrono::nanoseconds> read_process_age(Pid pid) {
  const auto text = read_file(proc_path(pid, "stat"));
  if (!text) return std::nullopt;
  const auto ticks = parse_start_ticks(*text);
  timespec now{};
  if (!ticks || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return std::nullopt;
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const auto started = std::chrono::nanoseconds(
      static_cast<std::int64_t>(*ticks * (std::uint64_t{1'000'000'000} / per_second)));
  const auto up = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  return std::max(up - started, std::chrono::nanoseconds(0));
}

std::optional<std::uint64_t> read_namespace_inode(Pid pid, std::string_view kind) {
  struct stat info {};
  if (::stat(proc_path(pid, fmt::format("ns/{}", kind)).c_str(), &info) != 0) return std::nullopt;
  return info.st_ino;
}

}  // namespace swipr::host
