// Reads the memory of its own process without faulting, by asking the kernel about each page first.
//
// rt_sigprocmask copies the signal set from the given address before it checks `how`
// (kernel/signal.c): with an invalid `how` it returns EFAULT for an unreadable page and EINVAL for
// a readable one, and has no other effect. It takes about 0.15 µs, needs no descriptor and no
// state, and is permitted everywhere. If the program unmaps a page between probe and read, the read
// faults: read only stacks of the calling thread, never code (code_claims.h).
#pragma once

#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::unwind {

inline constexpr std::uint64_t kPageBytes =
    4096;  // the smallest page size; also correct if pages are larger

// Context: signal handler.  Allocates: never.  Errno: kept (raw system call).
SWIPR_SIGNAL_SAFE bool is_page_readable(std::uint64_t page) noexcept;

class PageProbeReader {
 public:
  static constexpr bool kReadsCode = false;

  PageProbeReader() noexcept = default;
  // `readable`: a byte that was read or written just now, whose page needs no probe.
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
  // Sanitizers would report these reads: the walk reads whatever frames contain, including guard
  // zones of sanitizers and words that another thread writes.
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

  // The pages known to be readable. They are adjacent, because a walk proceeds upwards.
  static constexpr std::uint64_t kWordsInPage = kPageBytes - sizeof(std::uint64_t) + 1;
  std::uint64_t begin_ = 0;
  std::uint64_t words_ = 0;  // number of addresses from begin_ on at which a whole word is readable
};

// As walk() with a StackReader, with the reads inlined. If it ends with kUnbuilt, `*stopped` gets
// the registers of the last frame, from which walk_on continues.
SWIPR_SIGNAL_SAFE WalkEnd walk(const CodeMap& map, const Registers& registers,
                               PageProbeReader& reader, FrameBuffer& frames,
                               Registers* stopped = nullptr) noexcept;

}  // namespace swipr::unwind
