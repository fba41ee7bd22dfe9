#include "preload/trace/calls/pool.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "preload/machine/raw_syscall.h"
#include "preload/trace/calls/machine.h"
#include "preload/trace/calls/pool_code.h"
#include "preload/trace/calls/sampled_calls.h"
#include "preload/trace/calls/slow_calls.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::trace {

// Hooks read it at any moment, so nothing constructs it.
constinit Pool pool{};

namespace {

using machine::raw_syscall;  // other preloaded libraries replace functions of time

constexpr std::size_t kPageBytes = 4096;

struct Instant {
  std::uint64_t ticks;
  std::uint64_t ns;
};

// Of some readings that with the shortest distance between the two clocks.
Instant read_both() noexcept {
  Instant best{};
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int round = 0; round < 16; ++round) {
    timespec time{};
    const std::uint64_t before = read_ticks();
    raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&time));
    const std::uint64_t took = read_ticks() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
                                   static_cast<std::uint64_t>(time.tv_nsec)};
  }
  return best;
}

// 10 ms with readings that are 100 ns apart at most: an error below 0.01 %.
std::uint64_t measure_ns_per_tick() noexcept {
  const Instant first = read_both();
  const timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
  raw_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, reinterpret_cast<long>(&pause));
  const Instant last = read_both();
  if (last.ticks <= first.ticks || last.ns <= first.ns) return 0;
  return ((last.ns - first.ns) << 32) / (last.ticks - first.ticks);
}

// In virtual machines that intercept it, it takes 1 µs and more.
std::uint64_t measure_ns_per_stamp() noexcept {
  constexpr std::uint64_t kStamps = 256;
  const std::uint64_t first = read_ticks();
  std::uint64_t last = first;
  for (std::uint64_t stamp = 0; stamp < kStamps; ++stamp) last = read_ticks();
  return (last - first) / kStamps * pool.ns_per_tick >> 32;
}

template <typename Element>
bool map_table(Element*& table, std::size_t count) noexcept {
  if (table == nullptr) table = static_cast<Element*>(map_pool_memory(count * sizeof(Element)));
  return table != nullptr;
}

// What has been mapped when memory was short stays for the next time.
bool map_tables() noexcept {
  return map_table(pool.calls, kCallCount) && map_table(pool.details, kCallCount) &&
         map_table(pool.threads, kThreadCount) && map_table(pool.next_free, kCallCount);
}

std::uint64_t read(const std::uint64_t& value) noexcept {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

// Memory of places that no thread has had is not touched.
bool was_used(std::size_t thread) noexcept {
  return __atomic_load_n(&pool.threads[thread].was_used, __ATOMIC_RELAXED) != 0;
}

std::uint64_t calls_of(std::uint32_t probe, std::size_t thread) noexcept {
  if (!was_used(thread)) return 0;
  const Histogram& part = pool.probes[probe].histograms[thread];
  return read(part.calls) + read(part.untraced) + read(part.elsewhere);
}

// Its list is gone: calls that are still open free themselves when they end.
void let_go(ThreadCalls& thread) noexcept {
  std::uint32_t number = thread.youngest;
  for (std::size_t looks = 0; looks < kCallCount && number != 0; ++looks) {
    Call& call = pool.calls[number];
    const std::uint32_t previous = call.previous;
    call.owner = nullptr;
    const CallState before = call.state.exchange(CallState::kLeft);
    if (before == CallState::kEnded || before == CallState::kUnwound) release_call(number);
    number = previous;
  }
  while (thread.free_count != 0) release_call(thread.free_calls[--thread.free_count]);
  thread.youngest = 0;
  thread.busy = 0;
  thread.tid.store(0);
}

}  // namespace

// Far from all code: the room near code is for copies. The kernel takes another place if this one
// is in use.
void* map_pool_memory(std::size_t bytes) noexcept {
  static std::uint64_t next = kPoolMemory;
  void* const memory = ::mmap(reinterpret_cast<void*>(next), bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // Where the kernel has larger pages, the next place would be in use.
  next += (bytes + unwind::page_bytes() - 1) & -unwind::page_bytes();
  return memory == MAP_FAILED ? nullptr : memory;
}

PoolStatus prepare_pool() noexcept {
  static bool is_ready = false;
  pool.pid = ::getpid();  // a child of a fork inherits the rest
  if (is_ready) return PoolStatus::kReady;
  if (const PoolStatus status = check_processor(); status != PoolStatus::kReady) return status;
  if (!map_tables()) return PoolStatus::kNoMemory;
  pool.ns_per_tick = measure_ns_per_tick();
  if (pool.ns_per_tick == 0) return PoolStatus::kNoClock;
  pool.ns_per_stamp = measure_ns_per_stamp();
  write_code();
  if (!make_code_executable()) return PoolStatus::kNotExecutable;
  is_ready = true;
  return PoolStatus::kReady;
}

bool set_up_probe(std::uint32_t probe, std::uint64_t copy) noexcept {
  Probe& place = pool.probes[probe];
  if (place.histograms == nullptr) {
    place.histograms = static_cast<Histogram*>(map_pool_memory(kThreadCount * sizeof(Histogram)));
  }
  place.copy = copy;
  place.slow_ns.store(kNeverSlow);
  return place.histograms != nullptr;
}

void add_up(std::uint32_t probe, Histogram& sum) noexcept {
  sum = {};
  for (std::size_t thread = 0; thread < kThreadCount; ++thread) add_thread(probe, thread, sum);
}

bool add_thread(std::uint32_t probe, std::size_t thread, Histogram& sum) noexcept {
  const Histogram& part = pool.probes[probe].histograms[thread];
  if (calls_of(probe, thread) == 0) return false;
  sum.calls += read(part.calls);
  sum.sum_ns += read(part.sum_ns);
  sum.max_ns = std::max(sum.max_ns, read(part.max_ns));
  sum.unwound += read(part.unwound);
  sum.untraced += read(part.untraced);
  sum.elsewhere += read(part.elsewhere);
  sum.slow += read(part.slow);
  sum.slow_ns += read(part.slow_ns);
  sum.slow_lost += read(part.slow_lost);
  for (std::size_t bucket = 0; bucket < kBucketCount; ++bucket) {
    sum.buckets[bucket] += read(part.buckets[bucket]);
  }
  return true;
}

std::uint64_t count_calls(std::uint32_t probe) noexcept {
  std::uint64_t calls = 0;
  for (std::size_t thread = 0; thread < kThreadCount; ++thread) calls += calls_of(probe, thread);
  return calls;
}

// Beside two readings of the counter: registers, the call's data, the histogram
// (bench/trace_calls).
std::uint64_t cost_of_call_ns() noexcept {
  constexpr std::uint64_t kOthersNs = 16;
  return kOthersNs + 2 * pool.ns_per_stamp;
}

std::uint64_t cost_of_calls_ns(std::uint32_t probe) noexcept {
  constexpr std::uint64_t kElsewhereNs = 6;
  std::uint64_t measured = 0;
  std::uint64_t cost_ns = 0;
  for (std::size_t thread = 0; thread < kThreadCount; ++thread) {
    if (!was_used(thread)) continue;
    const Histogram& part = pool.probes[probe].histograms[thread];
    measured += read(part.calls) + read(part.untraced);
    cost_ns += read(part.elsewhere) * kElsewhereNs;
    cost_ns += (read(part.slow) - read(part.slow_lost)) * kSlowCallNs;
  }
  return cost_ns + measured * cost_of_call_ns();
}

std::uint32_t open_calls_of(std::uint32_t probe) noexcept {
  std::uint64_t seen[kThreadCount / 64] = {};
  std::uint32_t count = 0;
  for (std::size_t number = 0; number < kCallCount; ++number) {
    const Call& call = pool.calls[number];
    const CallState state = call.state.load();
    if (call.probe != probe || (state != CallState::kOpen && state != CallState::kLeft)) continue;
    const ThreadCalls* const owner = __atomic_load_n(&call.owner, __ATOMIC_RELAXED);
    if (owner != nullptr) {
      const auto thread = static_cast<std::size_t>(owner - pool.threads);
      const std::uint64_t bit = std::uint64_t{1} << thread % 64;
      if ((seen[thread / 64] & bit) != 0) continue;
      seen[thread / 64] |= bit;
    }
    ++count;
  }
  return count;
}

void follow_fork() noexcept {
  for (Probe& probe : pool.probes) probe.enabled.store(0);
  forget_slow_calls();
  forget_sampled_calls();
  renumber_this_thread();
}

std::uint32_t open_calls() noexcept {
  std::uint32_t count = 0;
  for (std::size_t call = 0; call < kCallCount; ++call) {
    const CallState state = pool.calls[call].state.load();
    if (state == CallState::kOpen || state == CallState::kLeft) ++count;
  }
  return count;
}

// A thread that is found to have ended stays so: its place is claimed again only when it is free,
// also by a thread with the same tid.
void reclaim_ended(void (*before)(void* state, std::size_t place) noexcept, void* state) noexcept {
  for (std::size_t place = 0; place < kThreadCount; ++place) {
    ThreadCalls& thread = pool.threads[place];
    const std::int32_t tid = thread.tid.load();
    if (tid != 0 && ::syscall(SYS_tgkill, pool.pid, tid, 0) != 0 && errno == ESRCH) {
      if (before != nullptr) before(state, place);
      let_go(thread);
    }
  }
}

void set_sites(std::uint32_t probe, std::span<const std::uint64_t> sites) noexcept {
  Probe& place = pool.probes[probe];
  const std::size_t count = std::min(sites.size(), kMostSites);
  std::copy_n(sites.begin(), count, place.sites);
  place.site_count.store(static_cast<std::uint32_t>(count));
}

bool has_sites(std::uint32_t probe, std::span<const std::uint64_t> sites) noexcept {
  const Probe& place = pool.probes[probe];
  return std::equal(sites.begin(), sites.end(), place.sites, place.sites + place.site_count.load());
}

std::uint64_t real_return_address(std::uint64_t address) noexcept {
  const std::uint64_t distance =
      unwind::plain_return_address(address) - reinterpret_cast<std::uint64_t>(swipr_trace_thunks);
  if (distance >= kPages * kPageBytes) return address;
  return swipr_trace_returns[distance / kThunkBytes].address_minus_1 + 1;
}

}  // namespace swipr::trace
