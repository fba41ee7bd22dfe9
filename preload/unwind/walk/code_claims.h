// What a walk in a signal handler takes for granted about code, because it must not read it.
//
// Another thread may unmap code at any moment (dlclose, munmap), between the question whether a
// page is readable and the load. The stack of the interrupted thread stays, code does not. So the
// handler goes on as if the code were what makes the walk plausible, and notes that as a claim; the
// control thread reads the code by a system call, which cannot fault, before the stack is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"

namespace swipr::unwind {

struct CodeClaim {
  enum class Kind : std::uint8_t {
    kNoCallBefore,  // before `address` stands no direct call into [begin, end)
    kCallBefore,    // before `address` stands a direct call into [begin, end)
    kHash,          // `begin` bytes from `address` on have the hash `end` (CodeWitness)
  };
  std::uint64_t address = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t frame = 0;  // the last frame that does not depend on it
  Kind kind = Kind::kNoCallBefore;

  friend bool operator==(const CodeClaim& a, const CodeClaim& b) noexcept {
    return a.address == b.address && a.begin == b.begin && a.end == b.end && a.kind == b.kind;
  }
};

// Generated code claims a hash for each of its functions.
inline constexpr std::uint32_t kMaxClaims = 128;

// `claims`: the first `count` are those of the walk so far, from the innermost frame outwards.
// Context: signal handler.  False: no room, or the same was refuted before: the walk has to take it
// for untrue.
SWIPR_SIGNAL_SAFE bool add_claim(std::span<CodeClaim, kMaxClaims> claims, std::uint32_t& count,
                                 const CodeClaim& claim) noexcept;

// Context: control thread. Later walks take it for untrue. One of many may be forgotten.
void note_refuted(const CodeClaim& claim) noexcept;
// Code has changed: what was refuted may be true now.
void forget_refuted() noexcept;

}  // namespace swipr::unwind
