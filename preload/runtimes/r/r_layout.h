// Where R keeps what a stack walk reads, and how a process is seen to run it. Nothing of R is
// called. R exports its variables, and the structures are the same in 4.0 to 4.6; they are proven
// in the process, not looked up by version. Source: Defn.h (RCNTXT), Rinternals.h, context.c and
// main.c (setup_Rmainloop) of R 4.0.4, 4.2.2 and 4.5.0.
#pragma once

#include <csetjmp>
#include <cstdint>

#include "common/core/range.h"
#include "preload/runtimes/detection.h"
#include "preload/unwind/base/image_reader.h"

namespace swipr::runtimes {

// An interpreter in this process, of which there is at most one. A value: copy it. Valid while the
// image is mapped.
struct RRuntime {
  std::uint64_t innermost = 0;  // where the address of the innermost context is
  std::uint64_t stack_end = 0;  // of the stack of its thread, as R knows it; 0: not started
};

// struct RCNTXT: offsets in bytes. Before the arguments are a jump buffer and two integers.
inline constexpr std::uint64_t kRArguments = 16 + sizeof(sigjmp_buf) + 8;
inline constexpr std::uint64_t kRCall = kRArguments + 24;
inline constexpr std::uint64_t kRLoop = kRArguments + 96;  // bcpc: of a variable of the loop
// Its head.
struct RContextHead {
  std::uint64_t next;  // the next outer one
  std::uint32_t flags;
  std::uint32_t reserved;
};

// Objects (SEXPREC): the type is in the lowest bits; the contents begin after four words.
enum RType : std::uint8_t { kRSymbol = 1, kRCallType = 6, kRText = 9 };
inline constexpr std::uint8_t kRTypeBits = 31;
inline constexpr std::uint64_t kRContents = 32;

struct RDetection {
  DetectionState state = DetectionState::kAbsent;
  const char* reason = nullptr;  // static text, for "frames not read (REASON)"
  RRuntime runtime;
};

// Looks for R in a mapped image: `dynamic` is its PT_DYNAMIC (run-time addresses), as for
// find_exported. An image that has none costs a few small reads.
// Context: control thread.  Allocates: never.  Bounds: kMaxRContexts.
RDetection detect_r(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                    unwind::ImageReader reader) noexcept;

}  // namespace swipr::runtimes
