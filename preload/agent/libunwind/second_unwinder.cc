#include "preload/agent/libunwind/second_unwinder.h"

#include <algorithm>

#include "preload/agent/base/log.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/handler/slots.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::agent {

namespace {

constexpr const char* kAdvice = unwind::kElfMachine == 62  // EM_X86_64
                                    ? "); using swipr's tables; install libunwind8 "
                                      "(libunwind-x86_64.so.8)"
                                    : "); using swipr's tables; libunwind is used on x86-64 only";

// Zero-initialised, and therefore not in the library's file. Only the control thread uses them.
constinit libunwind::Walker walker;
constinit unwind::FrameBuffer found{};
constinit char failure_text[512] = {};

}  // namespace

void SecondUnwinder::open(ProcMemory& memory) noexcept {
  if (choice_ == UnwinderChoice::kSwipr || is_on_) return;
  failure_ = {};
  FixedText<256> why;
  if (!walker.open(memory, why)) return fail(why.view());
  if (!open_copies() || (choice_ == UnwinderChoice::kCompare && !differences_.open())) {
    return fail("no memory for copies of stacks");
  }
  is_on_ = true;
}

// Never freed: a handler may be about to use it.
bool SecondUnwinder::open_copies() noexcept {
  if (handler::shared.stack_copies.load(std::memory_order_relaxed) != nullptr) return true;
  auto* const copies = static_cast<std::uint64_t*>(map_memory(handler::kStackCopiesBytes));
  handler::shared.stack_copies.store(copies, std::memory_order_release);
  return copies != nullptr;
}

void SecondUnwinder::fail(std::string_view why) noexcept {
  TextWriter text(failure_text);
  text.append("SWIPR_UNWINDER=").append(name_of(choice_));
  text.append(": libunwind cannot be used (").append(why);
  text.append(kAdvice);
  failure_ = text.view();
  log_line(LogLevel::kWarning, failure_);
}

void SecondUnwinder::close() noexcept {
  is_on_ = false;
  differences_.clear();
}

void SecondUnwinder::walk(unwind::StackReader stack, const ModuleMap& modules,
                          ProcMemory& memory) noexcept {
  if (!is_on_) [[likely]]
    return;
  end_ = walker.walk(start_, stack, modules, memory, found);
}

unwind::WalkEnd SecondUnwinder::take(unwind::FrameBuffer& frames, unwind::WalkEnd end) noexcept {
  if (!is_on_) [[likely]]
    return end;
  if (choice_ == UnwinderChoice::kCompare) {
    if (!walker.met_swipr()) differences_.note(frames, found);
    return end;
  }
  frames.frame_count = found.frame_count;
  frames.omitted_at = found.omitted_at;
  frames.flags = found.flags | wire::kStackByLibunwind;
  frames.claim_count = 0;
  frames.hole = {};
  std::copy_n(found.pcs.begin(), found.frame_count, frames.pcs.begin());
  std::copy_n(found.kinds.begin(), found.frame_count, frames.kinds.begin());
  std::copy_n(found.stacks.begin(), found.frame_count, frames.stacks.begin());
  return end_;
}

}  // namespace swipr::agent
