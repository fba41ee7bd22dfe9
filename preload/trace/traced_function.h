// A function that is or was traced. Attaching it again uses what is there: copies are never freed,
// because a thread may be in one at any time.
// Context: control thread.  Lifetime: of the process.
#pragma once

#include <cstdint>

#include "preload/trace/gate/gate.h"
#include "preload/trace/plan/plan.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::trace {

class TracedFunction {
 public:
  // Of a function that was found to be traceable: its plan, its bytes. kTooFar: no memory near it.
  Refusal set_up(const Function& function, const Plan& plan, std::uint32_t probe) noexcept;
  // What set_up() has made is for this function, too.
  bool is_for(const Function& function, const Plan& plan) const noexcept;
  // kGone: the module was unmapped; it cannot be attached any more.
  GateReport attach() noexcept;
  GateReport detach() noexcept;
  // Calls are measured, if it is attached; otherwise they only pass through the copy.
  void enable(bool is_enabled) noexcept;

  bool is_attached() const noexcept { return is_attached_; }
  bool is_gone() const noexcept { return is_gone_; }
  std::uint64_t function() const noexcept { return plan_.function; }
  std::uint32_t probe() const noexcept { return probe_; }
  // The jump is there.
  bool is_patched(unwind::ImageReader reader) const noexcept;
  // The patch's bytes are those of the function.
  bool is_as_before() const noexcept;
  // In the child of a fork, which may have been made between two steps of attach() or detach().
  void doubt_after_fork() noexcept { is_attached_ = stub_ != 0 && !is_gone_; }

 private:
  Patch patch() const noexcept { return {&plan_, copy_, stub_, original_}; }
  void note(const GateReport& report) noexcept;

  static constexpr std::size_t kMostBeginBytes = 32;

  Plan plan_;
  std::uint64_t stub_ = 0;
  std::uint64_t copy_ = 0;
  std::uint32_t probe_ = 0;
  std::uint8_t original_[kJumpBytes] = {};
  std::uint8_t begin_[kMostBeginBytes] = {};  // of the function, what the copy replaces
  bool is_attached_ = false;
  bool is_gone_ = false;
};

}  // namespace swipr::trace
