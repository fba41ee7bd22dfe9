#include "preload/runtimes/java/java_counters.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "preload/runtimes/object_reader.h"

namespace swipr::runtimes {

namespace {

struct Prologue {
  std::uint32_t magic;
  std::uint8_t byte_order, major, minor, is_accessible;
  std::uint32_t used, has_overflown;
  std::uint64_t changed_at;
  std::uint32_t first_entry, entry_count;
};

struct Entry {
  std::uint32_t bytes;  // to the next one
  std::uint32_t name;   // offset, as below
  std::uint32_t vector_length;
  char type;
  std::uint8_t flags, units, variability;
  std::uint32_t value;
};

constexpr std::uint32_t kMagic = 0xc0c0feca;
constexpr std::size_t kMostNameBytes = 48;

bool has_name(ObjectPieces& reader, std::uint64_t address, std::string_view name) noexcept {
  std::array<char, kMostNameBytes> text{};
  const auto part = std::span(text).first(std::min(name.size() + 1, text.size()));
  return reader.read(address, std::as_writable_bytes(part)) &&
         std::string_view(text.data(), ::strnlen(text.data(), part.size())) == name;
}

}  // namespace

std::uint64_t find_java_counter(std::uint64_t begin, std::string_view name,
                                unwind::ImageReader reader) noexcept {
  constexpr char kLong = 'J';
  ObjectPieces pieces(reader);
  Prologue prologue{};
  if (begin == 0 || !pieces.read_value(begin, prologue) || prologue.magic != kMagic) return 0;
  std::uint64_t at = begin + prologue.first_entry;
  for (std::uint32_t i = 0; i < std::min(prologue.entry_count, kMaxJavaCounters); ++i) {
    Entry entry{};
    if (!pieces.read_value(at, entry) || entry.bytes < sizeof entry) return 0;
    const bool is_number = entry.type == kLong && entry.vector_length == 0;
    if (is_number && has_name(pieces, at + entry.name, name)) return at + entry.value;
    at += entry.bytes;
  }
  return 0;
}

}  // namespace swipr::runtimes
