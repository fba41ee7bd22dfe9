// Names of kernel functions in which threads sleep, each with a small number that is part of the
// identity of a blocked thread's stack. Context: control thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/core/runtime_frame.h"

namespace swipr::agent {

// What a thread waits for in its language runtime.
struct RuntimeWaitKey {
  RuntimeWait kind = RuntimeWait::kNone;
  std::uint32_t holder_tid = 0;  // 0: unknown
  std::uint32_t type = 0;        // of what it waits for: whose name it is in FunctionTable; 0: none
  friend bool operator==(const RuntimeWaitKey&, const RuntimeWaitKey&) = default;
};

// Where a language runtime or the C library notes who holds a lock, and what it noted when that was
// read. Address 0: nowhere.
struct HolderNote {
  std::uint64_t address = 0;
  std::uint64_t value = 0;
};

struct RuntimeWaitFound {
  RuntimeWaitKey key{};
  HolderNote note{};
  std::uint64_t lock = 0;  // see WaitKey
};

// Where a thread waits, and its labels there. Its lock distinguishes stacks only up to a bound: see
// StackTable.
struct WaitKey {
  std::uint32_t syscall = 0;  // as on the wire: number + 1
  std::uint32_t channel = 0;  // of WaitChannels
  RuntimeWaitKey runtime{};
  std::uint32_t labels = 0;  // of LabelTable; 0: none
  std::uint64_t lock = 0;    // address of the lock of the C library; 0: none, or one of many
  bool equals_but_lock(const WaitKey& other) const noexcept {
    return syscall == other.syscall && channel == other.channel && runtime == other.runtime &&
           labels == other.labels;
  }
};

class WaitChannels {
 public:
  // From 1. 0: the text is "0" (the thread does not sleep, or access is denied) or not a function
  // name, or there are too many names. Bounds: 127 names of at most 47 characters.
  // Source: kernel, fs/proc/base.c, proc_pid_wchan.
  std::uint32_t number_of(std::string_view text) noexcept;
  // Empty for 0.
  std::string_view name(std::uint32_t number) const noexcept;

 private:
  static constexpr std::size_t kMaxChars = 47;
  struct Name {
    std::uint8_t size = 0;
    char text[kMaxChars] = {};
  };
  std::array<Name, 127> names_{};
};

}  // namespace swipr::agent
