#include "preload/runtimes/v8/v8_text.h"

#include <algorithm>

#include "preload/runtimes/v8/v8_frames.h"

namespace swipr::runtimes {
namespace {

// Bits of the instance types of strings, as v8dbg_StringRepresentationMask and others have them.
constexpr std::int32_t kRepresentation = 7;
constexpr std::int32_t kSequential = 0;
constexpr std::int32_t kCons = 1;
constexpr std::int32_t kExternal = 2;
constexpr std::int32_t kSliced = 3;
constexpr std::int32_t kThin = 5;
constexpr std::int32_t kOneByte = 8;
constexpr std::int32_t kUncached = 16;  // external: without the address of the characters

}  // namespace

bool is_v8_string(const V8Layout& layout, ObjectPieces& reader, std::uint64_t word) noexcept {
  std::int32_t type = 0;
  return read_v8_type(layout, reader, word, type) && type < layout.first_other_type;
}

V8StringParts::V8StringParts(const V8Layout& layout, ObjectPieces& reader,
                             std::uint64_t word) noexcept
    : layout_(layout), reader_(reader) {
  push({.word = word});
}

bool V8StringParts::next(V8Units& out) noexcept {
  while (!is_broken_ && pending_count_ != 0 && steps_++ < kMaxV8StringParts) {
    const Part part = pending_[--pending_count_];
    if (resolve(part, out)) return true;
  }
  return false;
}

bool V8StringParts::push(const Part& part) noexcept {
  if (pending_count_ == kMaxPending) is_broken_ = true;
  if (!is_broken_ && part.count != 0) pending_[pending_count_++] = part;
  return false;
}

bool V8StringParts::resolve(const Part& part, V8Units& out) noexcept {
  const std::uint64_t string = v8_object(part.word);
  std::int32_t type = 0;
  is_broken_ = !read_v8_type(layout_, reader_, part.word, type) || type >= layout_.first_other_type;
  if (is_broken_) return false;
  switch (type & kRepresentation) {
    case kCons:
      return push_both(part, string);
    case kThin:
      return push_one(part, string, layout_.thin_actual, 0);
    case kSliced: {
      std::uint64_t offset = 0;
      if (!read(string, layout_.sliced_offset, offset)) return false;
      return push_one(part, string, layout_.sliced_parent,
                      static_cast<std::uint32_t>(v8_integer(offset)));
    }
    default:
      return resolve_flat(part, type, string, out);
  }
}

bool V8StringParts::resolve_flat(const Part& part, std::int32_t type, std::uint64_t string,
                                 V8Units& out) noexcept {
  const std::int32_t representation = type & kRepresentation;
  const bool is_external = representation == kExternal && (type & kUncached) == 0;
  std::uint32_t length = 0;
  is_broken_ = !(is_external || representation == kSequential) ||
               !reader_.read_value(at_v8_offset(string, layout_.string_length), length) ||
               length > INT32_MAX || part.first > length;
  if (is_broken_) return false;
  out.is_wide = (type & kOneByte) == 0;
  const std::int32_t characters = out.is_wide ? layout_.string_two_byte : layout_.string_one_byte;
  out.begin = at_v8_offset(string, characters);
  constexpr std::int32_t kWord = 8;
  if (is_external && !read(string, layout_.external_resource + kWord, out.begin)) return false;
  out.begin = out.address_of(part.first);
  out.count = std::min(part.count, length - part.first);
  return true;
}

bool V8StringParts::push_both(const Part& part, std::uint64_t string) noexcept {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t map = 0;
  std::uint32_t length = 0;
  if (!read(string, layout_.cons_first, first) || !read(string, layout_.cons_second, second)) {
    return false;
  }
  is_broken_ = v8_object(first) == 0 || !reader_.read_value(v8_object(first), map) ||
               !reader_.read_value(at_v8_offset(v8_object(first), layout_.string_length), length);
  if (is_broken_) return false;
  const std::uint32_t in_first = part.first < length ? length - part.first : 0;
  const std::uint32_t taken = std::min(in_first, part.count);
  push({.word = second,
        .first = part.first < length ? 0 : part.first - length,
        .count = part.count == kAll ? kAll : part.count - taken});
  return push({.word = first, .first = part.first, .count = taken});
}

// A sliced string has a length of its own; a thin one that of the other.
bool V8StringParts::push_one(const Part& part, std::uint64_t string, std::int32_t field,
                             std::uint32_t skipped) noexcept {
  std::uint64_t other = 0;
  std::uint32_t length = 0;
  if (!read(string, field, other)) return false;
  is_broken_ = !reader_.read_value(at_v8_offset(string, layout_.string_length), length) ||
               length > INT32_MAX || skipped > INT32_MAX || part.first > length;
  if (is_broken_) return false;
  return push({.word = other,
               .first = part.first + skipped,
               .count = std::min(part.count, length - part.first)});
}

bool V8StringParts::read(std::uint64_t string, std::int32_t field, std::uint64_t& out) noexcept {
  is_broken_ = !reader_.read_value(at_v8_offset(string, field), out);
  return !is_broken_;
}

}  // namespace swipr::runtimes
