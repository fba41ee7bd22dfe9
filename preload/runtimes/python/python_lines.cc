#include "preload/runtimes/python/python_lines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "preload/runtimes/token.h"

namespace swipr::runtimes {
namespace {

// The table, read piece by piece.
class TableBytes {
 public:
  TableBytes(Range<std::uint64_t> table, unwind::ImageReader reader) noexcept
      : next_(table.begin),
        left_(table.empty() ? 0 : std::min(table.end - table.begin, kMaxPythonLineTable)),
        reader_(reader) {}

  // False: the end, or unreadable.
  bool next(std::uint8_t& out) noexcept {
    if (used_ == size_ && !refill()) return false;
    out = bytes_[used_++];
    return true;
  }

 private:
  bool refill() noexcept {
    used_ = 0;
    size_ = std::min<std::uint64_t>(left_, bytes_.size());
    const auto part = std::as_writable_bytes(std::span(bytes_)).first(size_);
    if (size_ == 0 || !reader_.read(reader_.state, next_, part)) {
      size_ = 0;
      left_ = 0;
      return false;
    }
    next_ += size_;
    left_ -= size_;
    return true;
  }

  std::uint64_t next_;
  std::uint64_t left_;
  unwind::ImageReader reader_;
  std::size_t used_ = 0;
  std::size_t size_ = 0;
  std::array<std::uint8_t, 128> bytes_;
};

// A damaged table may lead to any line. Unsigned, since sums may overflow.
std::uint32_t moved(std::uint32_t line, std::int64_t by) noexcept {
  return line + static_cast<std::uint32_t>(by);
}

// Pairs {bytes to the next entry's position, signed change of the line there}.
std::uint32_t find_in_lnotab(TableBytes& table, std::uint32_t line,
                             std::uint32_t position) noexcept {
  std::uint32_t start = 0;
  std::uint8_t bytes = 0;
  std::uint8_t change = 0;
  while (table.next(bytes) && table.next(change)) {
    start += bytes;
    if (start > position) break;
    line = moved(line, static_cast<std::int8_t>(change));
  }
  return line;
}

// Pairs {bytes of this entry, signed change of the line before it; −128: it has no line}.
std::uint32_t find_in_pairs(TableBytes& table, std::uint32_t line,
                            std::uint32_t position) noexcept {
  constexpr std::int8_t kNoLine = -128;
  std::uint32_t end = 0;
  std::uint8_t bytes = 0;
  std::uint8_t change = 0;
  while (table.next(bytes) && table.next(change)) {
    end += bytes;
    const auto by = static_cast<std::int8_t>(change);
    if (by != kNoLine) line = moved(line, by);
    if (position < end) return by == kNoLine ? 0 : line;
  }
  return 0;
}

// Groups of six bits, the lowest first; bit 6: more follow.
std::uint64_t read_varint(TableBytes& table) noexcept {
  constexpr unsigned kMaxBits = 36;
  std::uint64_t value = 0;
  std::uint8_t byte = 0;
  for (unsigned shift = 0; shift <= kMaxBits && table.next(byte); shift += 6) {
    value |= std::uint64_t{byte & 0x3fu} << shift;
    if ((byte & 0x40) == 0) break;
  }
  return value;
}

// The lowest bit is the sign.
std::int64_t read_signed_varint(TableBytes& table) noexcept {
  const std::uint64_t value = read_varint(table);
  const auto size = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -size : size;
}

// Entries: a byte with bit 7 set {form 4 bits, units of the bytecode − 1 3 bits}, then bytes
// without bit 7, of which only the change of the line matters here.
std::uint32_t find_in_locations(TableBytes& table, std::uint32_t line,
                                std::uint32_t position) noexcept {
  constexpr unsigned kFirstOneLine = 10;  // forms 10 to 12 change the line by 0 to 2
  constexpr unsigned kLastOneLine = 12;
  constexpr unsigned kNoColumns = 13;
  constexpr unsigned kLong = 14;
  constexpr unsigned kNone = 15;
  std::uint32_t end = 0;
  std::uint8_t byte = 0;
  while (table.next(byte)) {
    if ((byte & 0x80) == 0) continue;  // the rest of an entry
    const unsigned form = byte >> 3 & 15;
    end += 2 * ((byte & 7u) + 1);
    if (form == kNoColumns || form == kLong) {
      line = moved(line, read_signed_varint(table));
    } else if (form >= kFirstOneLine && form <= kLastOneLine) {
      line = moved(line, form - kFirstOneLine);
    }
    if (position < end) return form == kNone ? 0 : line;
  }
  return 0;
}

}  // namespace

std::uint32_t find_python_line(PythonLineFormat format, std::uint32_t first_line,
                               std::uint32_t position, Range<std::uint64_t> table,
                               unwind::ImageReader reader) noexcept {
  if (position == kNoPosition) return first_line;
  TableBytes bytes(table, reader);
  switch (format) {
    case PythonLineFormat::kLnotab:
      return find_in_lnotab(bytes, first_line, position);
    case PythonLineFormat::kPairs:
      return find_in_pairs(bytes, first_line, position);
    case PythonLineFormat::kLocations:
      return find_in_locations(bytes, first_line, position);
  }
  return 0;
}

}  // namespace swipr::runtimes
