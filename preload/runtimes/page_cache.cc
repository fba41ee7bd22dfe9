#include "preload/runtimes/object_reader.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::runtimes {

static_assert(kObjectPageBytes == unwind::kPageBytes);

void PageCache::clear() noexcept {
  sets_.fill({});
  questions_ = 0;
}

bool PageCache::are_readable(std::uint64_t address, std::size_t bytes) noexcept {
  const std::uint64_t first = address & -kObjectPageBytes;
  const std::uint64_t last = (address + bytes - 1) & -kObjectPageBytes;
  if (address < kObjectPageBytes || address >> unwind::kUserAddressBits != 0) return false;
  return is_readable(first) && (last == first || is_readable(last));
}

bool PageCache::ask(std::uint64_t page) noexcept {
  if (questions_ == kMaxQuestions) return false;
  ++questions_;
  if (!unwind::is_page_readable(page)) return false;
  Set& set = sets_[page / kObjectPageBytes % kSets];
  set.older = set.newer;
  set.newer = page;
  return true;
}

}  // namespace swipr::runtimes
