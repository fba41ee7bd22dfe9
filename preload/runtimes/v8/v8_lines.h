// Positions in the source of a script: of the bytecode, and their lines.
// Context: control thread.  Allocates: never.
// Source: src/codegen/source-position-table.cc, src/objects/script.h, 10.2 to 14.6.
#pragma once

#include <array>
#include <cstdint>

#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/v8/v8_layout.h"
#include "preload/runtimes/v8/v8_text.h"

namespace swipr::runtimes {

inline constexpr std::uint32_t kMaxV8PositionTable = 1 << 16;  // bytes
inline constexpr std::uint32_t kMaxV8SourceUnits = 2 << 20;    // of a source without line ends

// From 1; line 0: unknown.
struct V8Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// The lines of sources that V8 has not counted itself: how many line ends are before every 2 Ki
// characters, of the sources that were asked for last. Sources do not change; another one at the
// same address has another length or another script.
// Zeroed memory is a valid one; 64 KiB: one, kept by its user.
class V8LineCache {
 public:
  // The place of a position in the source; line 0: behind its end, or too far. False: unreadable.
  bool find(std::uint64_t script, std::uint64_t source, const V8Units& units,
            std::uint32_t position, ObjectPieces& reader, V8Place& out) noexcept;
  // It has moved while it was read.
  void forget(std::uint64_t source) noexcept;

 private:
  static constexpr std::uint32_t kStep = 2048;
  static constexpr std::size_t kPlaces = 2048;  // a collision replaces

  struct Count {
    std::uint32_t lines = 0;       // line ends before
    std::uint32_t line_begin = 0;  // the position where the last of these lines begins
  };
  struct KnownCount {
    std::uint64_t script;
    std::uint64_t source;
    std::uint32_t length;
    std::uint32_t step;  // the count is before character step × kStep; 0: free
    Count count;
  };

  KnownCount& place_of(std::uint64_t source, std::uint32_t step) noexcept;
  // Adds the line ends of [begin, end). False: unreadable.
  static bool count_lines(const V8Units& units, std::uint32_t begin, std::uint32_t end,
                          ObjectPieces& reader, Count& count) noexcept;

  std::array<KnownCount, kPlaces> known_;
};

// `script`: an object. Line 0: there is no source, or none in one place, or it is too long. False:
// unreadable, or moved. Discards the reader's pieces.
bool find_v8_place(const V8Layout& layout, ObjectPieces& reader, std::uint64_t script,
                   std::uint32_t position, V8LineCache& cache, V8Place& out) noexcept;

// The position in the source of a position in bytecode (an object); kNoV8Position: unknown.
inline constexpr std::uint32_t kNoV8Position = ~std::uint32_t{0};
std::uint32_t find_v8_position(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t bytecode,
                               std::uint32_t position) noexcept;

// The position in the source that a SourcePosition has, from 1; 0: none.
constexpr std::uint32_t counted_v8_position(std::uint64_t source) noexcept {
  constexpr std::uint64_t kMask = (1 << 30) - 1;
  return static_cast<std::uint32_t>(source >> 1 & kMask);
}

// What the table of positions of an object (`table`: the offset there) has for a position in its
// code: a SourcePosition, as it is. False: nothing.
bool find_v8_code_position(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t object,
                           std::int32_t table, std::uint32_t position, std::uint64_t& out) noexcept;

}  // namespace swipr::runtimes
