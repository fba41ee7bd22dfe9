// Files of threads that are read at every tick, through descriptors that stay open: after 10 ms of
// sleep, opening and closing a file costs more than reading it. Only some stay open, the others are
// opened for every read: 10,000 threads exceed the usual limit of descriptors.
// Context: control thread.  Allocates: never.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/core/ids.h"

namespace swipr::agent {

class TaskFiles {
 public:
  enum class Kind : std::uint8_t { kSyscall, kSchedstat };

  // As read_task_file.
  std::string_view read(int task_directory, Tid tid, Kind kind, std::span<char> buffer) noexcept;
  void close_all() noexcept;

 private:
  struct File {
    Tid owner{};  // the thread that may keep its file here
    int descriptor = -1;
    std::uint8_t uses = 0;  // decremented when others need the entry
  };
  static constexpr std::size_t kPlaces = 32;

  void make_room(File& file, Tid tid) noexcept;

  std::array<std::array<File, 2>, kPlaces> files_{};
};

}  // namespace swipr::agent
