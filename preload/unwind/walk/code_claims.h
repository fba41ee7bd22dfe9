// Assumptions (claims) about code that a walk in a signal handler makes because it must not read
// code.
//
// Another thread may unmap code at any time (dlclose, munmap), also between the probe of a page and
// the load; the stack of the interrupted thread stays mapped. So the handler assumes the code that
// makes the walk plausible and records that as a claim. Before the stack is used, the control
// thread reads the code by a system call, which cannot fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"

namespace swipr::unwind {

struct CodeClaim {
  enum class Kind : std::uint8_t {
    kNoCallBefore,  // there is no direct call into [begin, end) before `address`
    kCallBefore,    // there is a direct call into [begin, end) before `address`
    kHash,          // `begin` bytes from `address` on have the hash `end` (CodeChecksum)
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

// Generated code needs one claim, of a hash, for each of its functions.
inline constexpr std::uint32_t kMaxClaims = 128;

// `claims`: the first `count` are those of the walk so far, from the innermost frame outwards.
// Context: signal handler. False: no room, or the claim was refuted before: the walk has to treat
// it as false.
SWIPR_SIGNAL_SAFE bool add_claim(std::span<CodeClaim, kMaxClaims> claims, std::uint32_t& count,
                                 const CodeClaim& claim) noexcept;

// Context: control thread. Later walks treat it as false. Of many such claims, one may be lost.
void note_refuted(const CodeClaim& claim) noexcept;
// Code has changed: refuted claims may be true now.
void forget_refuted() noexcept;

}  // namespace swipr::unwind
