#include "preload/agent/threads/own_waiters.h"

namespace swipr::agent::own_waiters {

namespace {
constinit std::array<std::atomic<std::int32_t>, kMaxWaiters> tids{};
// Number of entries in use, which makes a search unnecessary if it is 0. Incremented first and
// decremented last.
constinit std::atomic<std::uint32_t> count{0};
}  // namespace

void enter(Tid thread) noexcept {
  if (contains(thread)) return;
  count.fetch_add(1);
  for (std::atomic<std::int32_t>& tid : tids) {
    std::int32_t none = 0;
    if (tid.compare_exchange_strong(none, thread.value)) return;
  }
  count.fetch_sub(1);
}

void leave(Tid thread) noexcept {
  for (std::atomic<std::int32_t>& tid : tids) {
    std::int32_t expected = thread.value;
    if (!tid.compare_exchange_strong(expected, 0)) continue;
    count.fetch_sub(1);
    return;
  }
}

bool contains(Tid thread) noexcept {
  if (count.load() == 0) return false;
  for (const std::atomic<std::int32_t>& tid : tids) {
    if (tid.load() == thread.value) return true;
  }
  return false;
}

void clear() noexcept {
  for (std::atomic<std::int32_t>& tid : tids) tid.store(0);
  count.store(0);
}

}  // namespace swipr::agent::own_waiters
