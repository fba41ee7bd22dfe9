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

// The lines of sources that V8 has not counted itself: how many line ends are before every 8 Ki
// characters. Sources do not change; another one at the same address has another length or
// another script.
// Zeroed memory is a valid one; 25 KiB: one, kept by its user.
class V8LineCache {
 public:
  // The place of a position in the source; line 0: behind its end, or too far. False: unreadable.
  bool find(std::uint64_t script, std::uint64_t source, const V8Units& units,
            std::uint32_t position, ObjectPieces& reader, V8Place& out) noexcept;
  // It has moved while it was read.
  void forget(std::uint64_t source) noexcept;

 private:
  static constexpr std::uint32_t kStep = 8192;
  static constexpr std::uint32_t kSteps = kMaxV8SourceUnits / kStep;
  static constexpr std::uint32_t kSources = 12;

  struct Count {
    std::uint32_t lines;       // line ends before
    std::uint32_t line_begin;  // the position where the last of these lines begins
  };
  struct Source {
    std::uint64_t script;
    std::uint64_t source;
    std::uint32_t length;
    std::uint32_t counted;             // steps
    std::array<Count, kSteps> counts;  // [i]: before character (i + 1) × kStep
  };

  Source& source_of(std::uint64_t script, std::uint64_t source, std::uint32_t length) noexcept;
  // Adds the line ends of [begin, end). False: unreadable.
  static bool count_lines(const V8Units& units, std::uint32_t begin, std::uint32_t end,
                          ObjectPieces& reader, Count& count) noexcept;

  std::uint32_t next_;
  std::array<Source, kSources> sources_;
};

// `script`: an object. Line 0: there is no source, or none in one place, or it is too long. False:
// unreadable, or moved. Discards the reader's pieces.
bool find_v8_place(const V8Layout& layout, ObjectPieces& reader, std::uint64_t script,
                   std::uint32_t position, V8LineCache& cache, V8Place& out) noexcept;

// The position in the source of a position in bytecode (an object); kNoV8Position: unknown.
inline constexpr std::uint32_t kNoV8Position = ~std::uint32_t{0};
std::uint32_t find_v8_position(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t bytecode,
                               std::uint32_t position) noexcept;

// What the table of positions of an object (`table`: the offset there) has for a position in its
// code: a SourcePosition, as it is. False: nothing.
bool find_v8_code_position(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t object,
                           std::int32_t table, std::uint32_t position, std::uint64_t& out) noexcept;

}  // namespace swipr::runtimes
