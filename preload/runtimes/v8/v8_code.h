// Optimized code of V8 (TurboFan, Maglev): the functions that were inlined there, from the data
// that V8 keeps to leave the code again, and from its table of positions. Context: control thread.
// Allocates: never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/token.h"
#include "preload/runtimes/v8/v8_layout.h"

namespace swipr::runtimes {

// In the position of a token of kJavaScript: a position in the source, not in the bytecode.
inline constexpr std::uint32_t kV8SourcePosition = std::uint32_t{1} << 31;

inline constexpr std::size_t kMaxV8Inlined = 32;             // outer ones are left out
inline constexpr std::uint64_t kMaxV8CodeBytes = 128 << 10;  // before the pc
using V8Functions = std::array<Token, kMaxV8Inlined>;

// An object of code and its first instruction. Zeroed: none.
struct V8CodePlace {
  std::uint64_t object;
  std::uint64_t begin;
};

// The functions of a frame, innermost first, each with the position in its source. `token`: of the
// frame; `pc`: in its code. `place`: where code of the function was found last, or any; it is tried
// first, so that most calls need no search. 0: that is no optimized code of the function, or is
// gone. Discards the reader's pieces.
// Bounds: kMaxV8CodeBytes and kMaxV8PositionTable.
std::size_t expand_v8_token(const V8Runtime& v8, ObjectPieces& reader, const Token& token,
                            std::uint64_t pc, V8CodePlace& place, V8Functions& out) noexcept;

}  // namespace swipr::runtimes
