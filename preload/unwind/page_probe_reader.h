// Reads the own process's memory without faulting, by asking the kernel about each page first.
//
// rt_sigprocmask copies the signal set from the given address before it looks at `how`
// (kernel/signal.c): with an invalid `how` it answers EFAULT for an unreadable page and EINVAL for
// a readable one, and does nothing else. About 0.1 µs; no descriptor, no state, allowed everywhere.
// A page that the program unmaps between the question and the read is still a fault: read only
// stacks of the calling thread.
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/unwind/code_map.h"
#include "preload/unwind/walk.h"

namespace swipr::unwind {

inline constexpr std::uint64_t kPageBytes =
    4096;  // the smallest page: right also where pages are larger

// Context: signal handler.  Allocates: never.  Errno: kept (raw system call).
SWIPR_SIGNAL_SAFE bool is_page_readable(std::uint64_t page) noexcept;

class PageProbeReader {
 public:
  SWIPR_SIGNAL_SAFE bool read_word(std::uint64_t address, std::uint64_t& out) noexcept {
    if (address - page_ > kPageBytes - sizeof out && !probe(address)) [[unlikely]] {
      return false;
    }
    out = load(address);
    return true;
  }

  // The same for walk()'s other form and for expressions.
  SWIPR_SIGNAL_SAFE StackReader stack_reader() noexcept { return {&read_word_of, this}; }

 private:
  static constexpr std::uint64_t kNoPage = ~(kPageBytes - 1);  // the last page: never the program's

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
  // True when the word at `address` may be read; remembers its page unless it straddles two.
  bool probe(std::uint64_t address) noexcept;

  std::uint64_t page_ = kNoPage;
};

// As walk() with a StackReader, with the reads inlined.
SWIPR_SIGNAL_SAFE WalkEnd walk(const CodeMap& map, const Registers& registers,
                               PageProbeReader& reader, FrameBuffer& frames) noexcept;

}  // namespace swipr::unwind
