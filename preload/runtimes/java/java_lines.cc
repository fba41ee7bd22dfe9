#include "preload/runtimes/java/java_lines.h"

#include <algorithm>

namespace swipr::runtimes {

bool JavaNumbers::next(std::uint32_t& out) noexcept {
  constexpr std::uint32_t kFirstContinued = 192;  // a byte from there on: more follow
  constexpr unsigned kLastShift = 24;
  std::uint8_t byte = 0;
  out = 0;
  for (unsigned shift = 0; shift <= kLastShift; shift += 6) {
    if (!next_byte(byte) || byte < excluded_) return false;
    out += (byte - excluded_) << shift;
    if (byte < kFirstContinued) break;
  }
  return true;
}

// The lowest bit is the sign: 0, −1, 1, −2 …
bool JavaNumbers::next_signed(std::int32_t& out) noexcept {
  std::uint32_t value = 0;
  if (!next(value)) return false;
  out = static_cast<std::int32_t>(value >> 1 ^ (0 - (value & 1)));
  return true;
}

// Entries {change of the position, change of the line}: a byte with 5 and 3 bits, or 0xff and two
// signed numbers. They may be in any order of positions; 0 ends the table.
std::uint32_t find_java_line(std::uint32_t version, std::uint32_t position,
                             Range<std::uint64_t> table, unwind::ImageReader reader) noexcept {
  constexpr std::uint8_t kNumbersFollow = 0xff;
  if (table.empty()) return 0;
  table.end = table.begin + std::min(table.end - table.begin, kMaxJavaLineTable);
  JavaNumbers numbers(version, table, reader);
  std::uint32_t at = 0;
  std::uint32_t line = 0;
  std::uint32_t best = 0;
  std::uint32_t best_at = 0;
  std::uint8_t byte = 0;
  while (numbers.next_byte(byte) && byte != 0) {
    std::int32_t bytes = byte >> 3;
    std::int32_t lines = byte & 7;
    if (byte == kNumbersFollow && !(numbers.next_signed(bytes) && numbers.next_signed(lines))) {
      break;
    }
    at += static_cast<std::uint32_t>(bytes);  // damaged tables overflow
    line += static_cast<std::uint32_t>(lines);
    if (at == position) return line;
    if (at < position && at >= best_at) {
      best = line;
      best_at = at;
    }
  }
  return best;
}

}  // namespace swipr::runtimes
