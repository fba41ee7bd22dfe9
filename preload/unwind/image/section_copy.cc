#include "preload/unwind/image/section_copy.h"

#include <sys/mman.h>

#include <algorithm>

#include "preload/unwind/cfi/cfi_section.h"

namespace swipr::unwind {
namespace {

constexpr std::size_t kHeadBytes = 16;  // the longest length field and the CIE pointer

}  // namespace

SectionCopy::~SectionCopy() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

BuildStatus SectionCopy::open(Range<std::uint64_t> section, std::uint64_t load_bias,
                              ImageReader reader) noexcept {
  const std::uint64_t bytes = section.end - section.begin;
  if (bytes > kMaxBytes) return BuildStatus::kTooLarge;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return BuildStatus::kNoMemory;
  memory_ = static_cast<std::byte*>(memory);
  size_ = static_cast<std::size_t>(bytes);
  address_ = load_bias + section.begin;
  reader_ = reader;
  return BuildStatus::kOk;
}

bool SectionCopy::load(std::size_t offset, std::uint64_t bytes) noexcept {
  if (offset >= size_) return true;
  const std::size_t end =
      offset + static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset));
  for (std::size_t block = offset / kBlockBytes; block * kBlockBytes < end; ++block) {
    const std::uint64_t bit = std::uint64_t{1} << block % 64;
    if ((loaded_[block / 64] & bit) != 0) continue;
    const std::size_t begin = block * kBlockBytes;
    const std::span<std::byte> out(memory_ + begin, std::min(kBlockBytes, size_ - begin));
    if (!reader_.read(reader_.state, address_ + begin, out)) return false;
    loaded_[block / 64] |= bit;
  }
  return true;
}

bool SectionCopy::load_entry(std::size_t offset) noexcept {
  if (!load(offset, kHeadBytes) || !load(offset, CfiSection::entry_bytes(bytes(), offset))) {
    return false;
  }
  const auto entry = CfiSection(bytes(), 0, 0).parse_entry(offset);
  if (!entry || entry->is_cie) return true;
  return load(entry->cie, kHeadBytes) &&
         load(entry->cie, CfiSection::entry_bytes(bytes(), entry->cie));
}

}  // namespace swipr::unwind
