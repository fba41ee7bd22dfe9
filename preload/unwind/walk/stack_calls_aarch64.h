#pragma once

#include <cstdint>

#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::unwind {

// A traced call has the stack pointer of its caller's frame, and returns to its pc. `frames` are
// those of the walk of the thread's stack; `tid` 0: of the own one. The ends of the calls are told
// from now on.  Bounds: the thread's calls, and the frames.
template <typename Reader>
void find_stack_calls(std::int32_t tid, const FrameBuffer& frames, Reader&,
                      OpenCalls& out) noexcept {
  const ReplacedCode* const replaced = replaced_code.load(std::memory_order_acquire);
  if (replaced == nullptr || frames.frame_count < 2) return;
  const auto callers = [&frames](const auto& values) {
    return std::span(values).first(frames.frame_count).subspan(1);
  };
  const auto pointers = callers(frames.stacks);
  replaced->add_calls(tid, {pointers.front(), pointers.back(), pointers, callers(frames.pcs)}, out);
  replaced->note_sampled(out);
}

// The same for a stack that is copied, and walked later: `words` from `from` on.
template <typename Reader>
void find_calls_of_words(std::uint64_t from, std::uint64_t words, Reader&,
                         OpenCalls& out) noexcept {
  const ReplacedCode* const replaced = replaced_code.load(std::memory_order_acquire);
  if (replaced == nullptr) return;
  replaced->add_calls(0, {from, from + words * sizeof(std::uint64_t), {}, {}}, out);
  replaced->note_sampled(out);
}

}  // namespace swipr::unwind
