// SWIPR_UNWINDER: libunwind in addition to swipr's tables. Signal handlers then copy stacks, and
// both unwinders run in the control thread on the same registers and memory, so that only the
// unwinders cause differences.
// Context: control thread.
#pragma once

#include <string_view>

#include "preload/agent/base/unwinder_choice.h"
#include "preload/agent/libunwind/differences.h"
#include "preload/agent/libunwind/walker.h"

namespace swipr::agent {

class SecondUnwinder {
 public:
  // Before open.
  constexpr void choose(UnwinderChoice choice) noexcept { choice_ = choice; }
  UnwinderChoice choice() const noexcept { return choice_; }

  // When the first recording begins. Does nothing unless an unwinder was chosen. If libunwind
  // cannot be used, failure() states the reason and only swipr's tables are used.
  void open(ProcMemory& memory) noexcept;
  // When the last recording has ended: deletes the results of comparisons.
  void close() noexcept;
  bool is_on() const noexcept { return is_on_; }
  std::string_view failure() const noexcept { return failure_; }

  // The registers from which swipr's tables walked.
  void note_start(const unwind::Registers& registers) noexcept {
    if (is_on_) [[unlikely]]
      start_ = registers;
  }
  // Walks from there. The result is kept for take.
  void walk(unwind::StackReader stack, const ModuleMap& modules, ProcMemory& memory) noexcept;
  // Before the stack that swipr's tables found is recorded: compares it with libunwind's, or
  // replaces it. Returns how the walk of `frames` ended.
  unwind::WalkEnd take(unwind::FrameBuffer& frames, unwind::WalkEnd end) noexcept;

  const libunwind::Differences& differences() const noexcept { return differences_; }

 private:
  void fail(std::string_view why) noexcept;
  bool open_copies() noexcept;

  UnwinderChoice choice_ = UnwinderChoice::kSwipr;
  bool is_on_ = false;
  std::string_view failure_;
  libunwind::Differences differences_;
  unwind::Registers start_{};
  unwind::WalkEnd end_ = unwind::WalkEnd::kNoRule;
};

}  // namespace swipr::agent
