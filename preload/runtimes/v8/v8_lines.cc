#include "preload/runtimes/v8/v8_lines.h"

#include <algorithm>

#include "preload/runtimes/v8/v8_frames.h"
#include "preload/unwind/base/code_hash.h"

namespace swipr::runtimes {
namespace {

// The variable-length numbers of a table of positions.
class PositionNumbers {
 public:
  PositionNumbers(std::uint64_t begin, std::uint32_t count, ObjectPieces& reader) noexcept
      : next_(begin), end_(begin + count), reader_(reader) {}

  // False: the end, or unreadable.
  bool next(std::uint64_t& out) noexcept {
    constexpr unsigned kMostBits = 64;
    out = 0;
    for (unsigned shift = 0; shift < kMostBits; shift += 7) {
      std::uint8_t byte = 0;
      if (next_ == end_ || !reader_.read_value(next_, byte)) return false;
      ++next_;
      out |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool next_signed(std::int64_t& out) noexcept {
    std::uint64_t value = 0;
    if (!next(value)) return false;
    out = static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
    return true;
  }

 private:
  std::uint64_t next_;
  std::uint64_t end_;
  ObjectPieces& reader_;
};

// How far an entry is behind the one before. Until 13.6 the sign is a flag.
bool next_distance(const V8Traits& traits, PositionNumbers& numbers, std::uint64_t& out) noexcept {
  constexpr unsigned kFlagBits = 2;
  std::int64_t value = 0;
  if (traits.has_wide_entries) {
    if (!numbers.next(out)) return false;
    out >>= kFlagBits;
    return true;
  }
  if (!numbers.next_signed(value)) return false;
  out = static_cast<std::uint64_t>(value < 0 ? -(value + 1) : value);
  return true;
}

// A table is an array of bytes, in 12.4 and later a trusted one.
bool open_table(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t slot, std::uint64_t& begin,
                std::uint32_t& count) noexcept {
  std::uint64_t table = 0;
  std::uint64_t length = 0;
  std::int32_t type = 0;
  const V8Layout& layout = v8.layout;
  if (!reader.read_value(slot, table) || !read_v8_type(layout, reader, table, type) ||
      (type != layout.bytes_type && type != layout.trusted_bytes_type) ||
      !reader.read_value(at_v8_offset(v8_object(table), layout.array_length), length) ||
      !is_v8_integer(length)) {
    return false;
  }
  begin = at_v8_offset(v8_object(table), layout.array_data);
  count = std::min(static_cast<std::uint32_t>(v8_integer(length)), kMaxV8PositionTable);
  return true;
}

// The last entry of the table in `slot` for a position in code, or for one before.
// `of_javascript`: the last one that is a position in JavaScript (bit 0: of something else).
bool find_entry(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t slot,
                std::uint32_t position, bool of_javascript, std::uint64_t& out) noexcept {
  std::uint64_t begin = 0;
  std::uint32_t count = 0;
  if (!open_table(v8, reader, slot, begin, count)) return false;
  PositionNumbers numbers(begin, count, reader);
  std::uint64_t at = ~std::uint64_t{0};  // the entry of a function is before its first bytecode
  std::uint64_t source = 0;
  for (bool is_found = false;;) {
    std::uint64_t distance = 0;
    std::int64_t change = 0;
    if (!next_distance(v8.traits, numbers, distance) || !numbers.next_signed(change))
      return is_found;
    at += distance;
    source += static_cast<std::uint64_t>(change);
    if (at + 1 > std::uint64_t{position} + 1) return is_found;
    if (of_javascript && ((source & 1) != 0 || counted_v8_position(source) == 0)) continue;
    out = source;
    is_found = true;
  }
}

// What V8 counts as an end of a line; `next`: the character behind.
bool is_line_end(std::uint32_t c, std::uint32_t next) noexcept {
  return c == '\n' || (c == '\r' && next != '\n') || c == 0x2028 || c == 0x2029;
}

// The positions of the line ends in ascending order, counted by V8. False: it has not.
bool find_counted_line(const V8Layout& layout, ObjectPieces& reader, std::uint64_t ends,
                       std::uint32_t position, V8Place& out) noexcept {
  std::int32_t type = 0;
  std::uint64_t length = 0;
  const std::uint64_t array = v8_object(ends);
  if (!read_v8_type(layout, reader, ends, type) || type != layout.array_type ||
      !reader.read_value(at_v8_offset(array, layout.array_length), length) ||
      !is_v8_integer(length) || v8_integer(length) < 0) {
    return false;
  }
  const auto end_of = [&](std::uint32_t line, std::uint32_t& end) {
    std::uint64_t value = 0;
    const std::uint64_t at = at_v8_offset(array, layout.array_data) + line * sizeof value;
    if (!reader.read_value(at, value) || !is_v8_integer(value)) return false;
    end = static_cast<std::uint32_t>(v8_integer(value));
    return true;
  };
  const auto count = static_cast<std::uint32_t>(v8_integer(length));
  std::uint32_t low = 0;
  for (std::uint32_t high = count; low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    std::uint32_t end = 0;
    if (!end_of(middle, end)) return false;
    if (end < position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::uint32_t before = 0;
  if (low == count || (low != 0 && (!end_of(low - 1, before) || before >= position))) return false;
  out = {low + 1, low == 0 ? position + 1 : position - before};
  return true;
}

// Reads anew whether the script's source still has these characters first.
bool is_source(const V8Layout& layout, ObjectPieces& reader, std::uint64_t script,
               std::uint64_t source, const V8Units& units) noexcept {
  std::uint64_t current = 0;
  V8Units first;
  reader.forget();
  return reader.read_value(at_v8_offset(script, layout.script_source), current) &&
         current == source && V8StringParts(layout, reader, source).next(first) &&
         first.begin == units.begin && first.count == units.count && first.is_wide == units.is_wide;
}

// Code that a host compiles as a part of a file says where that begins.
void add_offsets(const V8Layout& layout, ObjectPieces& reader, std::uint64_t script,
                 V8Place& place) noexcept {
  constexpr std::int32_t kLineEndsBehindName = 40;  // otherwise the fields are others
  constexpr std::int32_t kWord = 8;
  std::uint64_t lines = 0;
  std::uint64_t columns = 0;
  const std::int32_t at = layout.script_name + kWord;
  if (place.line == 0 || layout.script_line_ends - layout.script_name != kLineEndsBehindName ||
      !reader.read_value(at_v8_offset(script, at), lines) ||
      !reader.read_value(at_v8_offset(script, at + kWord), columns) || !is_v8_integer(lines) ||
      !is_v8_integer(columns)) {
    return;
  }
  if (place.line == 1) place.column += static_cast<std::uint32_t>(v8_integer(columns));
  place.line += static_cast<std::uint32_t>(v8_integer(lines));
}

}  // namespace

bool V8LineCache::find(std::uint64_t script, std::uint64_t source, const V8Units& units,
                       std::uint32_t position, ObjectPieces& reader, V8Place& out) noexcept {
  out = {};
  if (position > units.count || position >= kMaxV8SourceUnits) return true;
  const std::uint32_t last = position / kStep;
  std::uint32_t step = last;
  Count count;
  for (; step != 0; --step) {
    const KnownCount& known = place_of(source, step);
    if (known.step != step || known.source != source || known.script != script ||
        known.length != units.count) {
      continue;
    }
    count = known.count;
    break;
  }
  while (step != last) {
    if (!count_lines(units, step * kStep, (step + 1) * kStep, reader, count)) return false;
    ++step;
    place_of(source, step) = {script, source, units.count, step, count};
  }
  if (!count_lines(units, last * kStep, position, reader, count)) return false;
  out = {count.lines + 1, position - count.line_begin + 1};
  return true;
}

void V8LineCache::forget(std::uint64_t source) noexcept {
  for (KnownCount& known : known_) {
    if (known.source == source) known.step = 0;
  }
}

V8LineCache::KnownCount& V8LineCache::place_of(std::uint64_t source, std::uint32_t step) noexcept {
  return known_[unwind::hash_word(step, source) % kPlaces];
}

bool V8LineCache::count_lines(const V8Units& units, std::uint32_t begin, std::uint32_t end,
                              ObjectPieces& reader, Count& count) noexcept {
  constexpr std::uint32_t kBlock = 512;
  std::array<std::uint8_t, kBlock + 2> bytes{};
  const std::uint32_t wide = units.is_wide ? 2 : 1;
  const auto unit = [&bytes, wide](std::uint32_t at) {
    return wide == 1 ? std::uint32_t{bytes[at]}
                     : std::uint32_t{bytes[at * 2]} | std::uint32_t{bytes[at * 2 + 1]} << 8;
  };
  while (begin < end) {
    const std::uint32_t count_here = std::min(end - begin, kBlock / wide);
    const std::uint32_t with_next = std::min(count_here + 1, units.count - begin);
    const auto out = std::as_writable_bytes(std::span(bytes)).first(with_next * wide);
    if (!reader.read(units.address_of(begin), out)) return false;
    for (std::uint32_t i = 0; i < count_here; ++i) {
      if (!is_line_end(unit(i), i + 1 < with_next ? unit(i + 1) : 0)) continue;
      ++count.lines;
      count.line_begin = begin + i + 1;
    }
    begin += count_here;
  }
  return true;
}

bool find_v8_place(const V8Layout& layout, ObjectPieces& reader, std::uint64_t script,
                   std::uint32_t position, V8LineCache& cache, V8Place& out) noexcept {
  std::uint64_t ends = 0;
  std::uint64_t source = 0;
  V8Units units;
  V8Units more;
  out = {};
  if (!reader.read_value(at_v8_offset(script, layout.script_line_ends), ends) ||
      !reader.read_value(at_v8_offset(script, layout.script_source), source)) {
    return false;
  }
  if (!find_counted_line(layout, reader, ends, position, out)) {
    std::int32_t type = 0;
    if (!read_v8_type(layout, reader, source, type)) return false;
    if (type >= layout.first_other_type) return true;  // `undefined`
    V8StringParts parts(layout, reader, source);
    if (!parts.next(units)) return false;
    if (position > units.count && parts.next(more)) return true;
    const bool is_found = cache.find(script, source, units, position, reader, out);
    if (!is_found || !is_source(layout, reader, script, source, units)) {
      cache.forget(source);
      return false;
    }
  }
  add_offsets(layout, reader, script, out);
  return true;
}

std::uint32_t find_v8_position(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t bytecode,
                               std::uint32_t position) noexcept {
  std::uint64_t found = 0;
  const std::uint64_t table = at_v8_offset(bytecode, v8.traits.bytecode_lines);
  return find_entry(v8, reader, table, position, true, found) ? counted_v8_position(found) - 1
                                                              : kNoV8Position;
}

bool find_v8_code_position(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t object,
                           std::int32_t table, std::uint32_t position,
                           std::uint64_t& out) noexcept {
  return find_entry(v8, reader, at_v8_offset(object, table), position, false, out);
}

}  // namespace swipr::runtimes
