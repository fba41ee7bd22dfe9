// A function that is or was traced. Attaching it again uses what is there: copies are never freed,
// because a thread may be in one at any time.
// Context: control thread.  Lifetime: of the process.
#pragma once

#include <cstdint>

#include "preload/trace/gate/gate.h"
#include "preload/trace/plan/plan.h"

namespace swipr::trace {

class TracedFunction {
 public:
  // Of a function that was found to be traceable: its plan, its bytes. kTooFar: no memory near it.
  Refusal set_up(const Function& function, const Plan& plan, std::uint32_t probe) noexcept;
  GateReport attach() noexcept;
  GateReport detach() noexcept;

  bool is_attached() const noexcept { return is_attached_; }
  std::uint64_t function() const noexcept { return plan_.function; }
  std::uint32_t probe() const noexcept { return probe_; }
  // The patch's bytes are those of the function.
  bool is_as_before() const noexcept;

 private:
  Plan plan_;
  std::uint64_t stub_ = 0;
  std::uint64_t copy_ = 0;
  std::uint32_t probe_ = 0;
  std::uint8_t original_[kJumpBytes] = {};
  bool is_attached_ = false;
};

}  // namespace swipr::trace
