// Reads the own process's memory without faulting, by asking the kernel about each page first.
//
// rt_sigprocmask copies the signal set from the given address before it looks at `how`
// (kernel/signal.c): with an invalid `how` it answers EFAULT for an unreadable page and EINVAL for
// a readable one, and does nothing else. About 0.15 µs; no descriptor, no state, allowed
// everywhere. A page that the program unmaps between the question and the read is still a fault:
// read only stacks of the calling thread, never code (code_claims.h).
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::unwind {

inline constexpr std::uint64_t kPageBytes =
    4096;  // the smallest page: right also where pages are larger

// Context: signal handler.  Allocates: never.  Errno: kept (raw system call).
SWIPR_SIGNAL_SAFE bool is_page_readable(std::uint64_t page) noexcept;

class PageProbeReader {
 public:
  static constexpr bool kReadsCode = false;

  PageProbeReader() noexcept = default;
  // `readable`: a byte that was read or written just now, whose page needs no question.
  SWIPR_SIGNAL_SAFE explicit PageProbeReader(std::uint64_t readable) noexcept
      : begin_(readable & -kPageBytes), words_(kWordsInPage) {}

  SWIPR_SIGNAL_SAFE bool read_word(std::uint64_t address, std::uint64_t& out) noexcept {
    if (address - begin_ >= words_ && !probe(address)) [[unlikely]] {
      return false;
    }
    out = load(address);
    return true;
  }

  // The same for walk()'s other form and for expressions.
  SWIPR_SIGNAL_SAFE StackReader stack_reader() noexcept { return {&read_word_of, this}; }

 private:
  // What other tools call an overflow is the point here: the walk reads what frames hold, guard
  // zones of sanitizers and words that another thread writes included.
  __attribute__((no_sanitize("address"), no_sanitize("thread"),
                 no_sanitize("undefined"))) static std::uint64_t
  load(std::uint64_t address) noexcept {
    struct __attribute__((packed, may_alias)) Word {
      std::uint64_t value;
    };
    return reinterpret_cast<const Word*>(address)->value;
  }

  static bool read_word_of(void* state, std::uint64_t address, std::uint64_t& out) noexcept;
  // True when the word at `address` may be read.
  bool probe(std::uint64_t address) noexcept;
  bool know(std::uint64_t page) noexcept;

  // The readable pages that are known: they adjoin each other, because a walk goes upwards.
  static constexpr std::uint64_t kWordsInPage = kPageBytes - sizeof(std::uint64_t) + 1;
  std::uint64_t begin_ = 0;
  std::uint64_t words_ = 0;  // so many addresses from begin_ on are those of whole words
};

// As walk() with a StackReader, with the reads inlined. Where it ends with kUnbuilt `*stopped` gets
// the registers of the last frame: walk_on goes on from there.
SWIPR_SIGNAL_SAFE WalkEnd walk(const CodeMap& map, const Registers& registers,
                               PageProbeReader& reader, FrameBuffer& frames,
                               Registers* stopped = nullptr) noexcept;

}  // namespace swipr::unwind
