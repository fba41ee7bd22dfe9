#include "symbolize/files/package_index.h"

#include "common/core/byte_cursor.h"

namespace swipr::symbolize {
namespace {

// What columns are of. Of the numbers that the two versions give to different things, 8 is the only
// one that matters here.
enum Column : std::uint32_t { kInfo = 1, kAbbrev = 3, kStrOffsets = 6, kRnglists = 8 };

constexpr std::uint64_t kHeaderBytes = 16;
constexpr std::uint64_t kIdBytes = 8;
constexpr std::uint64_t kNumberBytes = 4;

struct IndexHeader {
  std::uint32_t version, columns, units, slots;
};

class PackageIndex {
 public:
  explicit PackageIndex(std::span<const std::byte> bytes) : bytes_(bytes) {
    ByteCursor cursor(bytes);
    header_ = cursor.fixed<IndexHeader>();
  }

  // Products of two numbers of 32 bits and their sums stay below 2^64.
  bool is_sound() const {
    const std::uint64_t cells = std::uint64_t{header_.columns} * header_.units;
    const bool is_known = header_.version == 2 || (header_.version & 0xFFFF) == 5;
    const bool is_hash = header_.slots != 0 && (header_.slots & (header_.slots - 1)) == 0;
    return is_known && is_hash && cells <= bytes_.size() && header_.columns <= bytes_.size() &&
           cells_at() + 2 * cells * kNumberBytes <= bytes_.size();
  }

  // From 1; 0: it is not there. An index without a free slot ends the search, too.
  std::uint32_t row_of(std::uint64_t id) const {
    const std::uint64_t mask = header_.slots - 1;
    const std::uint64_t step = ((id >> 32) & mask) | 1;
    std::uint64_t slot = id & mask;
    for (std::uint32_t tries = 0; tries < header_.slots; ++tries, slot = (slot + step) & mask) {
      const std::uint32_t row = number(rows_at() + slot * kNumberBytes);
      if (row == 0 || row > header_.units) return 0;
      ByteCursor cursor(bytes_.subspan(kHeaderBytes + slot * kIdBytes));
      if (cursor.fixed<std::uint64_t>() == id) return row;
    }
    return 0;
  }

  PackagedSlices slices_of(std::uint32_t row) const {
    PackagedSlices slices;
    const std::uint64_t cells = std::uint64_t{header_.columns} * header_.units;
    for (std::uint64_t column = 0; column < header_.columns; ++column) {
      PackagedSlices::Slice* slice =
          slice_of(number(columns_at() + column * kNumberBytes), &slices);
      if (slice == nullptr) continue;
      const std::uint64_t cell = std::uint64_t{row - 1} * header_.columns + column;
      slice->offset = number(cells_at() + cell * kNumberBytes);
      slice->size = number(cells_at() + (cells + cell) * kNumberBytes);
    }
    return slices;
  }

 private:
  PackagedSlices::Slice* slice_of(std::uint32_t column, PackagedSlices* slices) const {
    switch (column) {
      case kInfo:
        return &slices->info;
      case kAbbrev:
        return &slices->abbrev;
      case kStrOffsets:
        return &slices->str_offsets;
      case kRnglists:  // in version 2: macros
        return header_.version == 2 ? nullptr : &slices->rnglists;
      default:
        return nullptr;
    }
  }

  std::uint64_t rows_at() const { return kHeaderBytes + header_.slots * kIdBytes; }
  std::uint64_t columns_at() const { return rows_at() + header_.slots * kNumberBytes; }
  std::uint64_t cells_at() const { return columns_at() + header_.columns * kNumberBytes; }

  std::uint32_t number(std::uint64_t at) const {
    ByteCursor cursor(bytes_.subspan(at));
    return cursor.fixed<std::uint32_t>();
  }

  std::span<const std::byte> bytes_;
  IndexHeader header_{};
};

}  // namespace

std::optional<PackagedSlices> find_in_package(std::span<const std::byte> index, std::uint64_t id) {
  const PackageIndex table(index);
  if (!table.is_sound()) return std::nullopt;
  const std::uint32_t row = table.row_of(id);
  if (row == 0) return std::nullopt;
  return table.slices_of(row);
}

}  // namespace swipr::symbolize
