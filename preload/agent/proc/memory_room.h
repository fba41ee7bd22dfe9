// How much memory the process can use before a memory cgroup, its own or an enclosing one, of
// version 1 or 2, reaches its limit and the kernel kills it. Inactive page cache and swap, which
// the kernel reclaims first, count as available.
// Source: kernel, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
// Context: control thread.  Allocates: never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace swipr::agent {

// Below that, no memory is used that is not freed at once: recordings are refused, or end.
inline constexpr std::uint64_t kLeastRoom = std::uint64_t{2} << 20;
// Memory that must be available for a recording: for its own data, its first stacks and its output;
// per thread for files of /proc, the thread's data and a page of its stack for the first signal
// frame. Tables of modules are additional. 1.3 MiB and 5 KiB are actually used.
constexpr std::uint64_t room_to_begin(std::uint64_t threads) noexcept {
  return kLeastRoom + (std::uint64_t{2} << 20) + threads * (12 << 10);
}

class MemoryRoom {
 public:
  // Finds the cgroups that have a limit and keeps their files open. Cgroups that cannot be read or
  // are not mounted count as unlimited. Formats: proc_pid_cgroup(5) and proc_pid_mountinfo(5).
  void open(const char* cgroups = "/proc/self/cgroup",
            const char* mounts = "/proc/self/mountinfo") noexcept;
  void close() noexcept;

  bool is_limited() const noexcept { return level_count_ != 0; }
  // False: less is available. Takes about 20 µs for each limit, 100 µs if it is near.
  bool has(std::uint64_t bytes) const noexcept;

 private:
  static constexpr std::size_t kMaxLevels = 8;
  struct Files;
  struct Level {
    int directory = -1;
    int limit = -1;  // its file, as is the next
    int usage = -1;
    const Files* files = nullptr;  // their names in the cgroup's version
  };

  void add_levels(std::string_view path, const Files& files, const char* mounts) noexcept;
  void add_level(const char* path, const Files& files) noexcept;
  static void close_files(const Level& level) noexcept;
  static bool has_room(const Level& level, std::uint64_t bytes) noexcept;

  std::array<Level, kMaxLevels> levels_{};
  std::size_t level_count_ = 0;
};

}  // namespace swipr::agent
