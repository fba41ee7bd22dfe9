#include "preload/unwind/page_probe_reader.h"

namespace swipr::unwind {

bool PageProbeReader::read_word_of(void* state, std::uint64_t address,
                                   std::uint64_t& out) noexcept {
  return static_cast<PageProbeReader*>(state)->read_word(address, out);
}

bool PageProbeReader::probe(std::uint64_t address) noexcept {
  const std::uint64_t first = address & ~(kPageBytes - 1);
  const std::uint64_t last = (address + sizeof(std::uint64_t) - 1) & ~(kPageBytes - 1);
  if (first == kNoPage || !is_page_readable(first)) return false;
  if (last != first) return is_page_readable(last);
  page_ = first;
  return true;
}

}  // namespace swipr::unwind
