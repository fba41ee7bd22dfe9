// Frames of V8's optimized code as those of the functions that were inlined there.
// Context: control thread.  Allocates: never.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "preload/agent/base/moment.h"
#include "preload/agent/sample/languages/token_names.h"
#include "preload/runtimes/v8/v8_code.h"

namespace swipr::agent {

// Zeroed memory is a valid one.
class V8Stacks {
 public:
  // The pcs of the functions of a frame, innermost first; none: the code at `pc` is not known to be
  // optimized. Lifetime: until the next call.
  std::span<const std::uint64_t> expand(const runtimes::Token& token, std::uint64_t pc,
                                        const handler::RuntimeSnapshot& snapshot,
                                        ProcMemory& memory, TokenNames& names,
                                        FunctionTable& functions, Moment now) noexcept;

 private:
  struct KnownPlace {
    static constexpr std::size_t kMost = 12;
    std::uint64_t function;  // 0: free
    std::uint64_t fingerprint;
    std::uint64_t pc;
    Moment read_at;
    std::uint32_t count;
    std::array<std::uint64_t, kMost> pcs;
  };
  static constexpr std::size_t kPlaces = 1024;  // a collision replaces
  static constexpr std::size_t kCodePlaces = 256;

  runtimes::V8Functions found_;  // scratch
  std::array<std::uint64_t, runtimes::kMaxV8Inlined> pcs_;
  std::array<KnownPlace, kPlaces> known_;
  std::array<runtimes::V8CodePlace, kCodePlaces> code_;  // of a function, by its address
};

}  // namespace swipr::agent
