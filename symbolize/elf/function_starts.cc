#include "symbolize/elf/function_starts.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace swipr::symbolize {
namespace {

// Linux Standard Base, Core, 10.6.2 (.eh_frame_hdr): version, three encodings, the address of
// .eh_frame, the number of entries; then the entries, sorted, each two offsets from the header.
constexpr std::string_view kUsualHeader("\x01\x1B\x03\x3B", 4);
constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kEntryBytes = 8;
// 10.6.1.2 (FDE): length, CIE pointer, begin and number of bytes of the function.
constexpr std::size_t kFdeBegin = 8;
constexpr std::size_t kFdeSize = 12;

// Zero where the bytes end before.
std::uint32_t read_u32(std::string_view bytes, std::uint64_t at) {
  std::uint32_t value = 0;
  if (bytes.size() < sizeof value || at > bytes.size() - sizeof value) return 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::uint64_t read_offset(std::string_view bytes, std::uint64_t at) {
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(read_u32(bytes, at))});
}

}  // namespace

FunctionStarts FunctionStarts::read(const ElfFile& file) {
  FunctionStarts result;
  const ElfFile::Section index = file.section(".eh_frame_hdr");
  if (index.bytes.size() < kHeaderBytes || !index.bytes.starts_with(kUsualHeader)) return result;
  result.index_ = index;
  result.frames_ = file.section(".eh_frame");
  result.count_ = std::min<std::size_t>(read_u32(index.bytes, 8),
                                        (index.bytes.size() - kHeaderBytes) / kEntryBytes);
  return result;
}

ImageAddr FunctionStarts::begin_of(std::size_t entry) const {
  return {index_.address.value + read_offset(index_.bytes, kHeaderBytes + entry * kEntryBytes)};
}

bool FunctionStarts::covers(std::size_t entry, ImageAddr address) const {
  const std::uint64_t fde =
      index_.address.value +
      read_offset(index_.bytes, kHeaderBytes + entry * kEntryBytes + kEntryBytes / 2) -
      frames_.address.value;
  // The begin stands here again. Is it another one, then this FDE is not encoded as usual.
  const ImageAddr begin = begin_of(entry);
  const std::uint64_t place = frames_.address.value + fde + kFdeBegin;
  if (place + read_offset(frames_.bytes, fde + kFdeBegin) != begin.value) return false;
  return address.value - begin.value < read_u32(frames_.bytes, fde + kFdeSize);
}

std::optional<ImageAddr> FunctionStarts::find(ImageAddr address) const {
  std::size_t first = 0;
  for (std::size_t left = count_; left > 0;) {  // the first entry behind `address`
    const std::size_t half = left / 2;
    const bool before = begin_of(first + half).value <= address.value;
    first = before ? first + half + 1 : first;
    left = before ? left - half - 1 : half;
  }
  if (first == 0 || !covers(first - 1, address)) return std::nullopt;
  return begin_of(first - 1);
}

}  // namespace swipr::symbolize
