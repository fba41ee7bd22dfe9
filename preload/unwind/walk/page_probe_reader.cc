#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::unwind {

bool PageProbeReader::read_word_of(void* state, std::uint64_t address,
                                   std::uint64_t& out) noexcept {
  return static_cast<PageProbeReader*>(state)->read_word(address, out);
}

bool PageProbeReader::probe(std::uint64_t address) noexcept {
  const std::uint64_t first = address & -kPageBytes;
  const std::uint64_t last = (address + sizeof(std::uint64_t) - 1) & -kPageBytes;
  return know(first) && (last == first || know(last));
}

bool PageProbeReader::know(std::uint64_t page) noexcept {
  if (page - begin_ < words_) return true;
  if (!is_page_readable(page)) return false;
  if (words_ != 0 && page == begin_ + words_ - kWordsInPage + kPageBytes) {
    words_ += kPageBytes;
  } else {
    begin_ = page;
    words_ = kWordsInPage;
  }
  return true;
}

}  // namespace swipr::unwind
