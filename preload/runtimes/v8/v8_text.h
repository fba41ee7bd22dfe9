// Strings of V8: flat ones, and those that consist of others.
// Context: control thread.  Allocates: never.  Bounds: 64 parts, 4,096 characters.
// Source: src/objects/string.h, 10.2 to 14.6.
#pragma once

#include <cstdint>

#include "preload/runtimes/function_text.h"
#include "preload/runtimes/object_reader.h"
#include "preload/runtimes/v8/v8_layout.h"

namespace swipr::runtimes {

inline constexpr std::uint32_t kMaxV8TextUnits = 4096;
inline constexpr unsigned kMaxV8StringParts = 64;

// Characters that lie in one place: bytes of Latin-1, or words of UTF-16.
struct V8Units {
  std::uint64_t begin = 0;
  std::uint32_t count = 0;
  bool is_wide = false;

  std::uint64_t address_of(std::uint32_t index) const noexcept {
    return begin + index * std::uint64_t{is_wide ? 2u : 1u};
  }
};

// Whether the word points to a string. False as well: it cannot be read.
bool is_v8_string(const V8Layout& layout, ObjectPieces& reader, std::uint64_t word) noexcept;

// The parts of a string one after another, each in one place.
class V8StringParts {
 public:
  V8StringParts(const V8Layout& layout, ObjectPieces& reader, std::uint64_t word) noexcept;

  // False: the end, or unreadable.
  bool next(V8Units& out) noexcept;
  // After next() has returned false: all parts have been returned.
  bool is_complete() const noexcept { return pending_count_ == 0 && !is_broken_; }

 private:
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};
  static constexpr unsigned kMaxPending = 16;

  struct Part {
    std::uint64_t word = 0;
    std::uint32_t first = 0;
    std::uint32_t count = kAll;  // at most
  };

  bool push(const Part& part) noexcept;
  // True: `part` was flat. Otherwise what it consists of is pending, or is_broken_.
  bool resolve(const Part& part, V8Units& out) noexcept;
  bool resolve_flat(const Part& part, std::int32_t type, std::uint64_t string,
                    V8Units& out) noexcept;
  bool push_both(const Part& part, std::uint64_t string) noexcept;
  bool push_one(const Part& part, std::uint64_t string, std::int32_t field,
                std::uint32_t skipped) noexcept;
  bool read(std::uint64_t string, std::int32_t field, std::uint64_t& out) noexcept;

  const V8Layout& layout_;
  ObjectPieces& reader_;
  unsigned steps_ = 0;
  unsigned pending_count_ = 0;
  bool is_broken_ = false;
  Part pending_[kMaxPending];
};

// Appends flat characters. False: unreadable.
template <std::size_t kBytes>
bool append_v8_units(ObjectPieces& reader, const V8Units& units,
                     BoundedText<kBytes>& out) noexcept {
  std::uint32_t first = 0;  // of two surrogates
  for (std::uint32_t i = 0; i < units.count; ++i) {
    std::uint16_t unit = 0;
    std::uint8_t byte = 0;
    const bool is_read = units.is_wide ? reader.read_value(units.address_of(i), unit)
                                       : reader.read_value(units.address_of(i), byte);
    if (!is_read) return false;
    const std::uint32_t c = units.is_wide ? unit : byte;
    const bool is_second = c >= 0xdc00 && c < 0xe000;
    if (first != 0) {
      out.append(is_second ? 0x10000 + ((first - 0xd800) << 10) + (c - 0xdc00) : first);
      first = 0;
      if (is_second) continue;
    }
    if (c >= 0xd800 && c < 0xdc00) {
      first = c;
    } else {
      out.append(c);
    }
  }
  if (first != 0) out.append(first);
  return true;
}

// Appends. False: it is no string, or cannot be read.
template <std::size_t kBytes>
bool read_v8_text(const V8Layout& layout, ObjectPieces& reader, std::uint64_t word,
                  BoundedText<kBytes>& out) noexcept {
  V8StringParts parts(layout, reader, word);
  std::uint32_t room = kMaxV8TextUnits;
  V8Units units;
  while (parts.next(units)) {
    const bool is_cut = units.count > room;
    if (is_cut) units.count = room;
    if (!append_v8_units(reader, units, out)) return false;
    if (is_cut) {
      out.cut();
      return true;
    }
    room -= units.count;
  }
  return parts.is_complete();
}

}  // namespace swipr::runtimes
