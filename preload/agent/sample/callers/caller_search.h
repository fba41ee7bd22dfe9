// Finds the caller of code without CFI whose frame has any size: hand-written kernels push,
// subtract from the stack pointer and align it, and use the frame pointer for data. The caller's
// return address is above on the stack, among data and return addresses of completed calls.
//
// A word is a candidate if the code before it is a call that can have led into that code, and a
// walk from there reaches the thread's root. Completed calls satisfy this, too. Therefore either
// the code's own instructions must show that they will return there (return_place.h), or there must
// be no other candidate, except return addresses of the same walk. On aarch64 the instructions have
// to show it: the place of a word does not tell the stack pointer of its function.
// Context: control thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "preload/agent/proc/proc_memory.h"
#include "preload/agent/sample/callers/call_site.h"
#include "preload/agent/sample/callers/return_place.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/stack_words.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::agent {

// Some of the stored words of a stack, by index.
class WordSet {
 public:
  void add(std::size_t index) noexcept { bits_[index / 64] |= bit(index); }
  bool has(std::size_t index) const noexcept { return (bits_[index / 64] & bit(index)) != 0; }
  void add_all(const WordSet& other) noexcept {
    for (std::size_t at = 0; at < bits_.size(); ++at) bits_[at] |= other.bits_[at];
  }

 private:
  static std::uint64_t bit(std::size_t index) noexcept { return std::uint64_t{1} << index % 64; }
  std::array<std::uint64_t, wire::kMaxFrames / 64> bits_{};
};

// Reads stored words of a stack, and current code.
class KeptStack {
 public:
  KeptStack(const unwind::StackWords& words, const unwind::CodeMap& map,
            const ProcMemory& memory) noexcept
      : words_(words), map_(map), memory_(memory) {}
  unwind::StackReader reader() noexcept;

  // Which words were read since.
  void forget_reads() noexcept { read_ = {}; }
  const WordSet& read_words() const noexcept { return read_; }

 private:
  bool read_word(std::uint64_t address, std::uint64_t& out) noexcept;

  const unwind::StackWords& words_;
  const unwind::CodeMap& map_;
  const ProcMemory& memory_;
  WordSet read_;
};

// Walks over `stack` from a caller. May add the frame pointer to `caller` if it finds it.
struct CallerWalk {
  unwind::WalkEnd (*run)(void* state, unwind::Registers& caller, KeptStack& stack) noexcept;
  void* state;
};

class CallerSearch {
 public:
  // The registers of the caller of the code in the gap, as far as they are known, as those of that
  // code in `callee`. `words`: of the stack from its stack pointer on, at most wire::kMaxFrames.
  // nullopt: no word passes, or too many.
  std::optional<unwind::Registers> find(const ProcMemory& memory, const unwind::CodeMap& map,
                                        const CodeGap& gap, const unwind::Registers& callee,
                                        const unwind::StackWords& words, CallerWalk walk) noexcept;
  // … as the code's own instructions show them; a walk must confirm them.
  std::optional<unwind::Registers> propose(const ProcMemory& memory, const unwind::CodeMap& map,
                                           const CodeGap& gap, const unwind::Registers& callee,
                                           const unwind::StackWords& words) noexcept;
  // Whether a direct call to the code in the gap precedes this address.
  bool is_called_from(const ProcMemory& memory, const CodeGap& gap,
                      std::uint64_t return_address) noexcept {
    return site_before(memory, return_address, gap) == CallSite::Kind::kDirect;
  }
  // Whether this word on top of the stack is the return address of the code in the gap.
  bool returns_to_top(const ProcMemory& memory, const CodeGap& gap,
                      std::uint64_t return_address) noexcept;
  // Code has changed: it is read again.
  void forget() noexcept {
    known_ = {};
    places_.forget();
  }

 private:
  struct Known {
    std::uint64_t return_address = 0;
    std::uint64_t gap = 0;
    CallSite site;
  };
  CallSite::Kind site_before(const ProcMemory& memory, std::uint64_t return_address,
                             const CodeGap& gap) noexcept;

  CallSite::Kind site_of(const ProcMemory& memory, const unwind::CodeMap& map, const CodeGap& gap,
                         std::uint64_t return_address) noexcept;

  std::array<Known, 1024> known_{};
  ReturnPlaces places_;
};

}  // namespace swipr::agent
