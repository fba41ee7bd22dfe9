// How much memory the process may take before the kernel ends it for the limit of a memory cgroup:
// its own one's and those around it, of version 2 and of version 1. What the kernel gives up first
// counts as room: page cache that is not in active use, and swap.
// Source: kernel, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
// Context: control thread.  Allocates: never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace swipr::agent {

// Below that nothing may be taken that is not freed at once: recordings are refused, or end.
inline constexpr std::uint64_t kLeastRoom = std::uint64_t{2} << 20;
// What a recording has to find: its own, its first stacks, what is written and not yet taken; for
// each thread files of /proc, what is known of it, a page of its stack for the first signal's
// frame. The tables of modules come on top. 1.3 MiB and 5 KiB are what is used.
constexpr std::uint64_t room_to_begin(std::uint64_t threads) noexcept {
  return kLeastRoom + (std::uint64_t{2} << 20) + threads * (12 << 10);
}

class MemoryRoom {
 public:
  // Finds the cgroups that have a limit and keeps their files open. What cannot be read or is
  // not mounted has no limit. The files are of the shapes of proc_pid_cgroup(5) and
  // proc_pid_mountinfo(5).
  void open(const char* cgroups = "/proc/self/cgroup",
            const char* mounts = "/proc/self/mountinfo") noexcept;
  void close() noexcept;

  bool is_limited() const noexcept { return level_count_ != 0; }
  // False: a limit is nearer than that. Some 20 µs for each limit, 100 where it is near.
  bool has(std::uint64_t bytes) const noexcept;

 private:
  static constexpr std::size_t kMaxLevels = 8;
  struct Files;
  struct Level {
    int directory = -1;
    int limit = -1;  // its file, as the next
    int usage = -1;
    const Files* files = nullptr;  // how the cgroup's version calls them
  };

  void add_levels(std::string_view path, const Files& files, const char* mounts) noexcept;
  void add_level(const char* path, const Files& files) noexcept;
  static void close_files(const Level& level) noexcept;
  static bool has_room(const Level& level, std::uint64_t bytes) noexcept;

  std::array<Level, kMaxLevels> levels_{};
  std::size_t level_count_ = 0;
};

}  // namespace swipr::agent
