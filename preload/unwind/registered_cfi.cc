#include "preload/unwind/registered_cfi.h"

#include <span>

#include "preload/unwind/cfi_compiler.h"
#include "preload/unwind/cfi_section.h"

namespace swipr::unwind {
namespace {

constexpr std::size_t kMaxTableBytes = 16 << 20;
constexpr std::size_t kMaxAllBytes = 256 << 20;
constexpr std::size_t kPageBytes = 4096;  // what is readable or not as a whole
constexpr std::size_t kLengthBytes = 4;

// Moves `next` from entry to entry as far as `bytes` reach. True: it stands on the terminator.
bool find_terminator(std::span<const std::byte> bytes, std::size_t& next) noexcept {
  while (next + kLengthBytes <= bytes.size()) {
    if (ByteCursor(bytes.subspan(next)).fixed<std::uint32_t>() == 0) return true;
    const std::uint64_t entry = CfiSection::entry_bytes(bytes, next);
    if (entry == 0) return false;  // a long length, cut off
    next = entry > kMaxTableBytes ? kMaxTableBytes : next + static_cast<std::size_t>(entry);
  }
  return false;
}

}  // namespace

bool RegisteredCfi::add(std::uint64_t address, ImageReader reader) noexcept {
  const std::size_t begin = bytes_.size();
  std::size_t next = 0;
  while (!find_terminator(bytes_.span().subspan(begin), next)) {
    const std::size_t done = bytes_.size() - begin;
    const std::size_t piece = kPageBytes - (address + done) % kPageBytes;
    const bool has_room = next < kMaxTableBytes && done < kMaxTableBytes &&
                          bytes_.size() < kMaxAllBytes && bytes_.resize(begin + done + piece);
    if (!has_room ||
        !reader.read(reader.state, address + done, bytes_.span().subspan(begin + done))) {
      bytes_.truncate(begin);
      return false;
    }
  }
  bytes_.truncate(begin + next);
  if (next == 0) return true;
  if (parts_.push_back({address, begin})) return true;
  bytes_.truncate(begin);
  return false;
}

BuildStatus RegisteredCfi::build(Range<std::uint64_t> text,
                                 const UnwindTable*& table) const noexcept {
  GrowableArray<PlacedSection> sections;
  if (!sections.reserve(parts_.size())) return BuildStatus::kNoMemory;
  for (std::size_t at = 0; at < parts_.size(); ++at) {
    const Part& part = parts_[at];
    const std::size_t end = at + 1 < parts_.size() ? parts_[at + 1].begin : bytes_.size();
    const auto bytes = bytes_.span().subspan(part.begin, end - part.begin);
    sections.push_back_reserved({CfiSection(bytes, part.address, 0), part.begin});
  }
  return compile_cfi(sections.span(), text, table);
}

}  // namespace swipr::unwind
