#include "preload/handler/signals/timed_threads.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "common/core/errno_saver.h"

namespace swipr::handler {

namespace {

// Tid in the low half, the timer above, and whether the thread has stopped it. 0: free.
using Entry = std::uint64_t;
constexpr Entry kStopped = Entry{1} << 63;
constexpr Entry pack(std::int32_t tid, std::int32_t timer) noexcept {
  return static_cast<Entry>(static_cast<std::uint32_t>(timer)) << 32 |
         static_cast<std::uint32_t>(tid);
}
constexpr std::int32_t tid_of(Entry entry) noexcept { return static_cast<std::int32_t>(entry); }
constexpr std::int32_t timer_of(Entry entry) noexcept {
  return static_cast<std::int32_t>((entry & ~kStopped) >> 32);
}

constinit std::array<std::atomic<Entry>, kTimedThreadCount> entries{};
constinit std::atomic<std::uint32_t> count{0};

// Kernels number threads one after the other.
std::atomic<Entry>& entry_of(std::int32_t tid) noexcept {
  return entries[static_cast<std::uint32_t>(tid) % kTimedThreadCount];
}

}  // namespace

bool enter_timed_thread(std::int32_t tid, std::int32_t timer) noexcept {
  Entry before = entry_of(tid).load();
  if (before != 0 && tid_of(before) != tid) return false;
  if (before == 0) count.fetch_add(1);
  entry_of(tid).store(pack(tid, timer));
  return true;
}

void leave_timed_thread(std::int32_t tid) noexcept {
  if (tid_of(entry_of(tid).load()) != tid) return;
  entry_of(tid).store(0);
  count.fetch_sub(1);
}

bool has_stopped_timer(std::int32_t tid) noexcept {
  const Entry entry = entry_of(tid).load();
  return tid_of(entry) == tid && (entry & kStopped) != 0;
}

void forget_timed_threads() noexcept {
  if (count.exchange(0) == 0) return;
  for (std::atomic<Entry>& entry : entries) entry.store(0, std::memory_order_relaxed);
}

void stop_own_timer() noexcept {
  if (count.load() == 0) return;
  const auto self = static_cast<std::int32_t>(::syscall(SYS_gettid));
  Entry entry = entry_of(self).load();
  if (tid_of(entry) != self || (entry & kStopped) != 0) return;
  const ErrnoSaver errno_saver;
  // If the agent has deleted the timer meanwhile, the call fails: kernels do not reuse these ids.
  const struct itimerspec never {};
  ::syscall(SYS_timer_settime, timer_of(entry), 0, &never, nullptr);
  entry_of(self).compare_exchange_strong(entry, entry | kStopped);
}

}  // namespace swipr::handler
