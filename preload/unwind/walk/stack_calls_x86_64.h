#pragma once

#include <cstdint>

#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::unwind {

// A traced call returns through a thunk, so the word that its caller's frame begins behind is a
// thunk's address. `frames` are those of the walk, `reader` reads the same stack. The ends of the
// calls are told from now on.  Bounds: a word for each frame.
template <typename Reader>
void find_stack_calls(std::int32_t /*tid*/, const FrameBuffer& frames, Reader& reader,
                      OpenCalls& out) noexcept {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  const ReplacedCode* const replaced = replaced_code.load(std::memory_order_acquire);
  if (replaced == nullptr) return;
  for (std::uint32_t frame = 1; frame < frames.frame_count; ++frame) {
    const std::uint64_t address = frames.stacks[frame] - kWord;
    std::uint64_t word = 0;
    if (reader.read_word(address, word)) replaced->add_calls(address, word, out);
  }
  replaced->note_sampled(out);
}

// The same for a stack that is copied, and walked later: its words from `from` on are tried.
// Bounds: `words` of them.
template <typename Reader>
void find_calls_of_words(std::uint64_t from, std::uint64_t words, Reader& reader,
                         OpenCalls& out) noexcept {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  const ReplacedCode* const replaced = replaced_code.load(std::memory_order_acquire);
  if (replaced == nullptr) return;
  std::uint64_t address = from;
  std::uint64_t word = 0;
  for (; words != 0 && reader.read_word(address, word); --words, address += kWord) {
    replaced->add_calls(address, word, out);
  }
  replaced->note_sampled(out);
}

}  // namespace swipr::unwind
