#include "preload/agent/proc/memory_room.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/proc/proc_text.h"

namespace swipr::agent {

// In `memory.stat` the values are those of the cgroup and all below it. Version 1 has no limit of
// swap alone, only one of memory and swap together.
struct MemoryRoom::Files {
  std::string_view controller;  // in /proc/self/cgroup and its mount's options; empty: version 2
  std::string_view type;        // of the file system
  const char* limit;
  const char* usage;
  const char* swap_limit;
  const char* swap_usage;
  std::string_view inactive_file;
  std::string_view active_file;
  std::string_view reclaimable_slab;

  static const Files kVersion1;
  static const Files kVersion2;
};

constexpr MemoryRoom::Files MemoryRoom::Files::kVersion1{
    .controller = "memory",
    .type = "cgroup",
    .limit = "memory.limit_in_bytes",
    .usage = "memory.usage_in_bytes",
    .swap_limit = "memory.memsw.limit_in_bytes",
    .swap_usage = "memory.memsw.usage_in_bytes",
    .inactive_file = "total_inactive_file",
    .active_file = "total_active_file",
    .reclaimable_slab = {}};

constexpr MemoryRoom::Files MemoryRoom::Files::kVersion2{.controller = {},
                                                         .type = "cgroup2",
                                                         .limit = "memory.max",
                                                         .usage = "memory.current",
                                                         .swap_limit = "memory.swap.max",
                                                         .swap_usage = "memory.swap.current",
                                                         .inactive_file = "inactive_file",
                                                         .active_file = "active_file",
                                                         .reclaimable_slab = "slab_reclaimable"};

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
// In version 1 the largest page-aligned long means "no limit".
constexpr std::uint64_t kLargestLimit = std::uint64_t{1} << 62;

std::string_view take_field(std::string_view& rest, char end) noexcept {
  const std::size_t size = std::min(rest.find(end), rest.size());
  const std::string_view field = leading(rest, size);
  rest.remove_prefix(std::min(size + 1, rest.size()));
  return field;
}

bool has_item(std::string_view list, std::string_view item) noexcept {
  while (!list.empty()) {
    if (take_field(list, ',') == item) return true;
  }
  return false;
}

// `none`: returned if there is no number.
std::uint64_t parse_bytes(std::string_view text, std::uint64_t none) noexcept {
  std::uint64_t bytes = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return end.ec == std::errc{} && bytes < kLargestLimit ? bytes : none;
}

std::uint64_t read_bytes(int file, std::uint64_t none) noexcept {
  char text[32];
  const ssize_t size = ::pread(file, text, sizeof(text), 0);
  return size <= 0 ? none : parse_bytes({text, static_cast<std::size_t>(size)}, none);
}

std::uint64_t read_bytes_at(int directory, const char* name, std::uint64_t none) noexcept {
  char text[32];
  return parse_bytes(read_file_at(directory, name, text), none);
}

// From lines "name value…"; 0: not found.
std::uint64_t find_value(std::string_view text, std::string_view name) noexcept {
  while (!text.empty() && !name.empty()) {
    std::string_view line = take_field(text, '\n');
    if (take_field(line, ' ') != name) continue;
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return parse_bytes(line, 0);
  }
  return 0;
}

std::uint64_t left_of(std::uint64_t limit, std::uint64_t usage) noexcept {
  return limit > usage ? limit - usage : 0;
}

std::uint64_t free_swap() noexcept {
  char text[4096];
  return 1024 * find_value(read_file_at(-1, "/proc/meminfo", text), "SwapFree:");
}

struct Mount {
  std::string_view root;  // the directory of its file system that is mounted
  std::string_view point;
};

// False: not a mount of cgroups. Source: proc_pid_mountinfo(5).
bool parse_mount(std::string_view line, std::string_view type, std::string_view controller,
                 Mount& out) noexcept {
  for (int skipped = 0; skipped < 3; ++skipped) take_field(line, ' ');
  out.root = take_field(line, ' ');
  out.point = take_field(line, ' ');
  const std::size_t optional_end = line.find(" - ");
  if (optional_end == std::string_view::npos) return false;
  line.remove_prefix(optional_end + 3);
  if (take_field(line, ' ') != type) return false;
  take_field(line, ' ');
  return controller.empty() || has_item(line, controller);
}

// For a cgroup outside the mount: the root of the mount, which is the nearest enclosing one.
std::string_view path_within(const Mount& mount, std::string_view path) noexcept {
  if (path.starts_with(mount.root)) {
    const std::string_view rest = skip(path, mount.root == "/" ? 0 : mount.root.size());
    if (rest == "/" || rest.find("/..") != std::string_view::npos) return {};
    if (rest.empty() || rest.front() == '/') return rest;
  }
  return {};
}

}  // namespace

void MemoryRoom::open(const char* cgroups, const char* mounts) noexcept {
  close();
  LineReader lines(cgroups);
  std::string_view line;
  // A controller is in one hierarchy; that of version 2 comes last.
  bool is_in_version_1 = false;
  while (lines.next(line)) {
    const std::string_view number = take_field(line, ':');
    const std::string_view controllers = take_field(line, ':');
    if (number == "0" && controllers.empty()) {
      if (!is_in_version_1) add_levels(line, Files::kVersion2, mounts);
    } else if (has_item(controllers, Files::kVersion1.controller)) {
      is_in_version_1 = true;
      add_levels(line, Files::kVersion1, mounts);
    }
  }
}

// From the cgroup itself up to the root of the mount. In a container the mount may contain only the
// container's own cgroup; the path in /proc/self/cgroup is then its root or below it.
void MemoryRoom::add_levels(std::string_view path, const Files& files,
                            const char* mounts) noexcept {
  LineReader lines(mounts);
  std::string_view line;
  Mount mount;
  do {
    if (!lines.next(line)) return;
  } while (!parse_mount(line, files.type, files.controller, mount));
  PathText directory(mount.point);
  directory.append(path_within(mount, path));
  while (!directory.overflowed() && directory.size() >= mount.point.size()) {
    add_level(directory.c_str(), files);
    directory.resize(std::min(directory.view().rfind('/'), directory.size()));
  }
}

void MemoryRoom::add_level(const char* path, const Files& files) noexcept {
  if (level_count_ == kMaxLevels) return;
  const int directory = ::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  Level level{.directory = directory,
              .limit = ::openat(directory, files.limit, O_RDONLY | O_CLOEXEC),
              .files = &files};
  if (read_bytes(level.limit, kNoLimit) != kNoLimit) {
    level.usage = ::openat(directory, files.usage, O_RDONLY | O_CLOEXEC);
  }
  if (level.usage >= 0) {
    levels_[level_count_++] = level;
  } else {
    close_files(level);
  }
}

void MemoryRoom::close_files(const Level& level) noexcept {
  for (const int file : {level.usage, level.limit, level.directory}) {
    if (file >= 0) ::close(file);
  }
}

void MemoryRoom::close() noexcept {
  for (std::size_t at = 0; at < level_count_; ++at) close_files(levels_[at]);
  level_count_ = 0;
}

bool MemoryRoom::has(std::uint64_t bytes) const noexcept {
  return std::all_of(levels_.begin(), levels_.begin() + level_count_,
                     [bytes](const Level& level) { return has_room(level, bytes); });
}

bool MemoryRoom::has_room(const Level& level, std::uint64_t bytes) noexcept {
  std::uint64_t room = left_of(read_bytes(level.limit, kNoLimit), read_bytes(level.usage, 0));
  if (room >= bytes) return true;
  const Files& files = *level.files;
  const int directory = level.directory;
  char text[8192];
  const std::string_view stat = read_file_at(directory, "memory.stat", text);
  // Half of the active page cache, because it includes the program's own code.
  room += find_value(stat, files.inactive_file) + find_value(stat, files.active_file) / 2 +
          find_value(stat, files.reclaimable_slab);
  if (room >= bytes) return true;
  const std::uint64_t swap = left_of(read_bytes_at(directory, files.swap_limit, kNoLimit),
                                     read_bytes_at(directory, files.swap_usage, 0));
  return room + std::min(swap, free_swap()) >= bytes;
}

}  // namespace swipr::agent
