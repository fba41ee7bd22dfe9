// Continues walks that ended too early, in a handler or from outside.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "preload/agent/sample/callers/caller_search.h"
#include "preload/agent/sample/callers/code_check.h"
#include "preload/agent/sample/callers/leaf_caller.h"
#include "preload/agent/sample/callers/vfork_caller.h"
#include "preload/agent/sample/sampler.h"
#include "preload/machine/older_calls.h"

namespace swipr::agent {

using unwind::FrameBuffer;
using unwind::WalkEnd;

namespace {

// Of the control thread. Zeros, which take no room in the library's file.
struct Scratch {
  CallerSearch callers;
  FrameBuffer chain;  // of walks that continue from a frame of others
  std::array<std::uint64_t, wire::kMaxFrames> copy;
  std::array<std::uint64_t, wire::kMaxFrames> words;
};
constinit Scratch scratch{};

// The stack at the time of the signal. Other memory cannot be read.
class CopiedStack {
 public:
  CopiedStack(std::span<const std::uint64_t> words, std::uint64_t begin, const unwind::CodeMap& map,
              const ProcMemory& memory) noexcept
      : bytes_(std::as_bytes(words)), begin_(begin), map_(map), memory_(memory) {}

  unwind::StackReader reader() noexcept {
    return {[](void* state, std::uint64_t address, std::uint64_t& out) noexcept {
              return static_cast<const CopiedStack*>(state)->read_word(address, out);
            },
            this};
  }
  bool read_word(std::uint64_t address, std::uint64_t& out) const noexcept {
    const std::uint64_t at = address - begin_;
    if (at < bytes_.size() && bytes_.size() - at >= sizeof out) {
      std::memcpy(&out, bytes_.data() + at, sizeof out);
      return true;
    }
    // The code is unchanged.
    return (reads_on_ || map_.find(address) != nullptr) &&
           memory_.read(address, std::as_writable_bytes(std::span(&out, 1)));
  }
  // From now on beyond the copy as well, where the stack may be another by now.
  void read_on() noexcept { reads_on_ = true; }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t begin_;
  const unwind::CodeMap& map_;
  const ProcMemory& memory_;
  bool reads_on_ = false;
};

// The chain's frames from `first` on, as those of a walk that continues after the frame `last`.
// False: they do not fit.
bool append(FrameBuffer& frames, std::uint32_t last, const FrameBuffer& chain,
            std::uint32_t first) noexcept {
  const std::uint32_t count = chain.frame_count - first;
  if (count > wire::kMaxFrames - 1 - last) return false;
  const auto copy = [first, count, last](const auto& from, auto& to) {
    std::copy_n(from.begin() + first, count, to.begin() + last + 1);
  };
  copy(chain.pcs, frames.pcs);
  copy(chain.kinds, frames.kinds);
  copy(chain.stacks, frames.stacks);
  frames.frame_count = last + 1 + count;
  frames.flags = (frames.flags & wire::kStackCut) | chain.flags;
  return true;
}

// The whole chain, which begins with a frame that was found on the stack.
bool append_chain(FrameBuffer& frames, std::uint32_t last) noexcept {
  FrameBuffer& chain = scratch.chain;
  chain.kinds[0] = static_cast<std::uint8_t>(wire::FrameSource::kGuess);
  return append(frames, last, chain, 0);
}

// Those frames of the chain that precede the second frame, if they lead to it. Where calls push no
// return addresses, the walk that found it knew only the lowest stack pointer that it can have.
void insert_after_first(FrameBuffer& frames) noexcept {
  FrameBuffer& chain = scratch.chain;
  std::uint32_t count = 0;
  while (count < chain.frame_count && chain.stacks[count] < frames.stacks[1]) ++count;
  if (count == 0 || count == chain.frame_count || chain.pcs[count] != frames.pcs[1] ||
      (unwind::kReturnAddressIsPushed && chain.stacks[count] != frames.stacks[1])) {
    return;
  }
  chain.flags = 0;
  if (append(chain, count - 1, frames, 1)) append_chain(frames, 0);
}

// The whole chain after the first frame. Its second frame was called by the function that jumped to
// its first one, whose name says what the program has called: local functions have no symbols.
bool append_chain_with_jump(FrameBuffer& frames, std::uint64_t behind_jump) noexcept {
  const FrameBuffer& chain = scratch.chain;
  if (chain.frame_count < 2) return false;
  const auto put = [&frames](std::size_t at, std::uint64_t pc, std::uint64_t stack) {
    frames.pcs[at] = pc;
    frames.kinds[at] = static_cast<std::uint8_t>(wire::FrameSource::kGuess);
    frames.stacks[at] = stack;
  };
  put(1, chain.pcs[0], chain.stacks[0]);
  put(2, behind_jump, chain.stacks[1]);
  return append(frames, 2, chain, 1);
}

}  // namespace

void SampledProcess::forget_code() noexcept {
  frames.forget();
  scratch.callers.forget();
}

void Sampler::finish_walk(handler::Slot& slot) noexcept {
  const unwind::CodeMap* const map = process_.modules.code_map();
  process_.languages.begin_stack(nullptr);
  finish_own_walk(slot);
  const bool is_whole = slot.copy == handler::Slot::Copy::kUnwalked;
  if (!is_whole || !process_.memory.is_open() || map == nullptr) return;
  CopiedStack stack(slot.copied_stack(), slot.copied_from, *map, process_.memory);
  process_.unwinder.note_start(slot.registers);
  process_.unwinder.walk(stack.reader(), process_.modules, process_.memory);
  slot.end = process_.unwinder.take(slot.frames, slot.end);
}

void Sampler::walk_copy(const unwind::Registers& caller, std::span<const std::uint64_t> stack,
                        FrameBuffer& frames) noexcept {
  const unwind::CodeMap* map = process_.modules.code_map();
  if (!process_.memory.is_open() || map == nullptr) return;
  const std::uint64_t begin = caller.values[unwind::kStackRegister];
  process_.languages.begin_stack(nullptr);
  CopiedStack copy(stack, begin, *map, process_.memory);
  walk_and_build(caller, false, copy.reader(), frames);
  map = process_.modules.code_map();  // with the tables that were built
  check_code_claims(process_.memory, map, scratch.callers, frames);
  if (!unwind::has_lost_caller(frames)) return;
  CopiedStack again(stack, begin, *map, process_.memory);
  const std::size_t count =
      unwind::keep_stack_words(*map, again, frames.hole.stack, std::span(scratch.words));
  find_lost_caller(frames, caller, {frames.hole.stack, std::span(scratch.words).first(count)});
}

void Sampler::finish_own_walk(handler::Slot& slot) noexcept {
  using Copy = handler::Slot::Copy;
  const unwind::CodeMap* const map = process_.modules.code_map();
  FrameBuffer& frames = slot.frames;
  const bool goes_on = slot.copy != Copy::kNone && process_.memory.is_open() && map != nullptr;
  if (!goes_on) return check_code_claims(process_.memory, map, scratch.callers, frames);
  std::span<const std::uint64_t> copied = slot.copied_stack();
  if (slot.copy != Copy::kUnwalked) {  // frames will take its place
    std::copy_n(copied.begin(), copied.size(), scratch.copy.begin());
    copied = std::span(scratch.copy).first(copied.size());
  }
  CopiedStack whole(copied, slot.copied_from, *map, process_.memory);
  unwind::StackWords words(slot.copied_from, copied);
  KeptStack kept(words, *map, process_.memory);
  const bool is_whole = slot.copy != Copy::kWords;
  if (slot.end == WalkEnd::kUnbuilt) {
    const bool exact = (frames.kinds[frames.frame_count - 1] & unwind::kExactFrame) != 0;
    walk_on(slot, exact, is_whole ? whole.reader() : kept.reader());
    if (slot.is_cut_short()) {  // the tables that the next answer needs
      CopiedStack longer = whole;
      longer.read_on();
      walk_and_build(slot.stopped, exact, longer.reader(), scratch.chain);
    }
  }
  check_code_claims(process_.memory, map, scratch.callers, frames);
  const bool is_lost = unwind::has_lost_caller(frames);
  if (!is_lost && !unwind::may_skip_callers(frames)) return;
  if (is_whole) {
    const std::size_t count =
        unwind::keep_stack_words(*map, whole, frames.hole.stack, std::span(scratch.words));
    words = {frames.hole.stack, std::span(scratch.words).first(count)};
  }
  if (!is_lost) return insert_skipped_callers(frames, slot.registers, words);
  if (find_lost_caller(frames, slot.registers, words)) slot.end = WalkEnd::kRoot;
}

// From the frame whose table was not built.
void Sampler::walk_on(handler::Slot& slot, bool exact, unwind::StackReader stack) noexcept {
  FrameBuffer& frames = slot.frames;
  const std::uint32_t last = frames.frame_count - 1;
  slot.end = walk_and_build(slot.stopped, exact, stack, scratch.chain);
  // The first of these is the last of those. It may have turned out to be exact.
  const unsigned kind = frames.kinds[last] | (scratch.chain.kinds[0] & unwind::kExactFrame);
  frames.kinds[last] = static_cast<std::uint8_t>(kind);
  const bool fits = append(frames, last, scratch.chain, 1);
  if (last == 0) frames.omitted_at = scratch.chain.omitted_at;
  if (fits && !frames.hole.exists && scratch.chain.hole.exists) {
    frames.hole = {.exists = true,
                   .frame = last + scratch.chain.hole.frame,
                   .stack = scratch.chain.hole.stack};
  }
}

// The code at the hole.
[[gnu::noinline]] std::optional<CodeGap> Sampler::gap_at_hole(
    const FrameBuffer& frames) const noexcept {
  return CodeGap::find(*process_.modules.code_map(),
                       unwind::frame_lookup_address(frames, frames.hole.frame));
}

// `registers` are the innermost frame's; `words` of the stack from the hole on.
bool Sampler::find_lost_caller(FrameBuffer& frames, const unwind::Registers& registers,
                               const unwind::StackWords& words) noexcept {
  const std::uint32_t last = frames.hole.frame;
  const unwind::CodeMap& map = *process_.modules.code_map();
  const auto gap = gap_at_hole(frames);
  if (!gap) return false;
  const auto run = [](void* state, unwind::Registers& caller, KeptStack& stack) noexcept {
    auto& self = *static_cast<Sampler*>(state);
    return self.walk_with_frame_pointer(caller, false, stack.reader(), scratch.chain);
  };
  unwind::Registers callee = registers;
  if (last != 0) callee.known = 0;
  callee.values[unwind::kStackRegister] = frames.hole.stack;
  callee.known |= unwind::bit_of(unwind::kStackRegister);
  const auto caller = scratch.callers.find(process_.memory, map, *gap, callee, words, {run, this});
  if (!caller) return false;
  KeptStack stack(words, map, process_.memory);
  if (walk_and_build(*caller, false, stack.reader(), scratch.chain) != WalkEnd::kRoot) return false;
  return append_chain(frames, last);
}

// The stack reached the root, but its innermost frame was left by its frame pointer. If the
// code's instructions show another caller than the next frame, and a walk from that one leads to
// the next frame, those between are inserted. Not with a runtime whose frames such a walk reads:
// the words are no objects of it.
void Sampler::insert_skipped_callers(FrameBuffer& frames, const unwind::Registers& registers,
                                     const unwind::StackWords& words) noexcept {
  const handler::RuntimeSnapshot* const runtime = process_.modules.runtimes().current();
  if (runtime != nullptr && runtime->has_native_code()) return;
  const auto gap = gap_at_hole(frames);
  if (!gap || scratch.callers.is_called_from(process_.memory, *gap, frames.pcs[1])) return;
  const unwind::CodeMap& map = *process_.modules.code_map();
  auto caller = scratch.callers.propose(process_.memory, map, *gap, registers, words);
  if (!caller) return;
  // The code has kept it for its caller.
  caller->values[unwind::kFrameRegister] = registers.values[unwind::kFrameRegister];
  caller->known |= unwind::bit_of(unwind::kFrameRegister);
  KeptStack stack(words, map, process_.memory);
  walk_and_build(*caller, false, stack.reader(), scratch.chain);
  insert_after_first(frames);
}

// The walk from outside to frames_ that began with `registers` has ended in a hole.
WalkEnd Sampler::find_lost_caller_outside(const unwind::Registers& registers, StackPieces& stack,
                                          WalkEnd end) noexcept {
  const std::uint64_t from = frames_.hole.stack;
  const std::size_t count =
      unwind::keep_stack_words(*process_.modules.code_map(), stack, from, std::span(scratch.words));
  const unwind::StackWords words(from, std::span(scratch.words).first(count));
  return find_lost_caller(frames_, registers, words) ? WalkEnd::kRoot : end;
}

// frames_ holds the first frame, whose return address is in a register.
WalkEnd Sampler::find_callers_of_first(const WaitPlace& wait, StackPieces& stack,
                                       WalkEnd end) noexcept {
  const bool in_vfork = wait.system_call == machine::kVfork;
  const bool is_found =
      (in_vfork && find_vfork_caller(wait, stack)) || find_leaf_caller(wait, stack);
  return is_found ? WalkEnd::kRoot : end;
}

bool Sampler::find_vfork_caller(const WaitPlace& wait, StackPieces& stack) noexcept {
  const std::uint64_t below = read_pointer(process_.memory, wait.sp - sizeof wait.sp);
  process_.modules.build_table_at(below - 1, process_.memory);
  const auto pc = find_vfork_return(process_.memory, *process_.modules.code_map(), wait.pc, below);
  return pc && walk_caller(*pc, wait.sp, stack) && append_chain(frames_, 0);
}

bool Sampler::find_leaf_caller(const WaitPlace& wait, StackPieces& stack) noexcept {
  if (unwind::kReturnAddressIsPushed) return false;
  const LeafCallers callers =
      propose_leaf_callers(process_.memory, *process_.modules.code_map(), wait.pc, wait.sp);
  for (const LeafCallers::Word& word : std::span(callers.words).first(callers.count)) {
    process_.modules.build_table_at(word.function, process_.memory);
  }
  const LeafCall call = find_leaf_call(process_.memory, *process_.modules.code_map(), callers);
  if (call.behind == 0 || !walk_caller(call.behind, callers.stack, stack)) return false;
  return call.behind_jump == 0 ? append_chain(frames_, 0)
                               : append_chain_with_jump(frames_, call.behind_jump);
}

// To scratch.chain. False: it does not reach the root.
bool Sampler::walk_caller(std::uint64_t pc, std::uint64_t sp, StackPieces& stack) noexcept {
  unwind::Registers caller;
  caller.values[unwind::kPcRegister] = pc;
  caller.values[unwind::kStackRegister] = sp;
  caller.known = unwind::bit_of(unwind::kPcRegister) | unwind::bit_of(unwind::kStackRegister);
  return walk_with_frame_pointer(caller, false, stack.reader(), scratch.chain) == WalkEnd::kRoot;
}

// An unknown frame pointer that is needed is recovered and added to `registers`: only a walk that
// reaches the thread's root confirms it.
WalkEnd Sampler::walk_with_frame_pointer(unwind::Registers& registers, bool exact,
                                         unwind::StackReader stack, FrameBuffer& frames) noexcept {
  const WalkEnd end = walk_and_build(registers, exact, stack, frames);
  if (end != WalkEnd::kUnknownRegister || registers.knows(unwind::kFrameRegister)) return end;
  if (frames.frame_count == 0) return end;
  const std::uint32_t last = frames.frame_count - 1;
  const auto frame = process_.frames.recover(process_.memory, *process_.modules.code_map(),
                                             frames.pcs[last], frames.stacks[last]);
  if (!frame) return end;
  registers.values[unwind::kFrameRegister] = *frame;
  registers.known |= unwind::bit_of(unwind::kFrameRegister);
  if (walk_and_build(registers, exact, stack, frames) == WalkEnd::kRoot) return WalkEnd::kRoot;
  registers.known &= ~unwind::bit_of(unwind::kFrameRegister);
  return walk_and_build(registers, exact, stack, frames);
}

}  // namespace swipr::agent
