#include "preload/runtimes/object_reader.h"
#include "preload/unwind/walk/page_probe_reader.h"

namespace swipr::runtimes {

static_assert(kObjectPageBytes == unwind::kPageBytes);

void PageCache::clear() noexcept {
  sets_.fill({});
  questions_ = 0;
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
