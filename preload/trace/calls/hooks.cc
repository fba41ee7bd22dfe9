// What a traced call executes. Context: any code of the program, at any moment, signal handlers
// included. Allocates: never. Calls nothing, uses general registers only (compiler options), and
// makes two system calls per thread, getpid and gettid, and one for a slow call. Bounds: kMostLooks
// calls of a list, but for exceptions.
#include <sys/syscall.h>

#include "preload/trace/calls/calls.h"
#include "preload/trace/calls/keep_sampled_call.h"
#include "preload/trace/calls/keep_slow_call.h"
#include "preload/trace/calls/machine.h"

namespace swipr::trace {

namespace {

constexpr unsigned kMostLooks = 8;
constexpr std::uint32_t kBatch = 17;  // 15 batches are the 255 thunks of a page
constexpr std::uint32_t kBatchesInPage = 15;
static_assert(kBatch * kBatchesInPage == kThunksInPage - 1);
static_assert(kBatch <= sizeof(ThreadCalls::free_calls) / sizeof(std::uint32_t));

// A thread without a place of its own: never traced.
ThreadCalls excluded{.busy = 1};

// Not a class's member: initial-exec, so that no function of libc is called to find it.
thread_local ThreadCalls* this_thread = nullptr;

// The compiler keeps the order of what it surrounds; a handler of this thread sees it so.
inline void order() noexcept { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// Against handlers of signals that arrive while a hook works.
class Busy {
 public:
  explicit Busy(ThreadCalls& thread) noexcept : thread_(thread) {
    thread_.busy = 1;
    order();
  }
  ~Busy() {
    order();
    thread_.busy = 0;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  ThreadCalls& thread_;
};

// In the child of a vfork, which runs in the memory of its parent's thread, no place is claimed:
// the parent continues with this thread's variables.
[[gnu::noinline]] ThreadCalls* claim_thread() noexcept {
  this_thread = &excluded;  // for handlers, meanwhile
  order();
  if (call_kernel(SYS_getpid) != pool.pid) {
    this_thread = nullptr;
    return &excluded;
  }
  const std::int32_t tid = call_kernel(SYS_gettid);
  for (std::size_t place = 0; place < kThreadCount; ++place) {
    std::int32_t free = 0;
    if (pool.threads[place].tid.compare_exchange(free, tid)) {
      pool.threads[place].was_used = 1;
      this_thread = &pool.threads[place];
      return this_thread;
    }
  }
  pool.threads_left_out.fetch_add(1);
  return this_thread;
}

void push_free(std::uint32_t call) noexcept {
  std::uint64_t head = pool.free_head.load();
  std::uint64_t next = 0;
  do {
    pool.next_free[call].store(static_cast<std::uint32_t>(head));
    next = ((head >> 32) + 1) << 32 | call;
  } while (!pool.free_head.compare_exchange(head, next));
}

// 0: none.
std::uint32_t pop_free() noexcept {
  std::uint64_t head = pool.free_head.load();
  std::uint64_t next = 0;
  do {
    const auto call = static_cast<std::uint32_t>(head);
    if (call == 0) return 0;
    next = ((head >> 32) + 1) << 32 | pool.next_free[call].load();
  } while (!pool.free_head.compare_exchange(head, next));
  return static_cast<std::uint32_t>(head);
}

[[gnu::noinline]] bool refill(ThreadCalls& thread) noexcept {
  if (const std::uint32_t call = pop_free(); call != 0) {
    thread.free_calls[thread.free_count++] = call;
    return true;
  }
  if (pool.fresh.load() >= kPages * kBatchesInPage) return false;
  const std::uint32_t batch = pool.fresh.fetch_add(1);
  if (batch >= kPages * kBatchesInPage) return false;
  const auto first = static_cast<std::uint32_t>(batch / kBatchesInPage * kThunksInPage + 1 +
                                                batch % kBatchesInPage * kBatch);
  for (std::uint32_t index = 0; index < kBatch; ++index) {
    thread.free_calls[thread.free_count++] = first + index;
  }
  return true;
}

inline void free_call(ThreadCalls& thread, std::uint32_t number) noexcept {
  pool.calls[number].state.store(CallState::kFree);
  if (thread.free_count < sizeof thread.free_calls / sizeof thread.free_calls[0]) {
    thread.free_calls[thread.free_count++] = number;
  } else {
    push_free(number);
  }
}

// A call that nobody can return from: it has ended, or longjmp has left it.
inline bool is_dead(const Call& call, std::uint32_t number, const Arrival& arrival) noexcept {
  if (call.state.load() == CallState::kEnded) return true;
  if (call.is_tail) return false;  // freed with the other one
  const auto* const own = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  return arrival.shows_left(call.slot, thunk_return(number),
                            swipr_trace_returns[number].address_minus_1 + 1, own);
}

// Found as ended ones later. Those of a call that has ended are not its own any more.
inline void end_tails(const Call& call) noexcept {
  std::uint32_t tail = call.state.load() == CallState::kOpen ? call.tail : 0;
  for (unsigned looks = 0; looks < kMostTails && tail != 0; ++looks) {
    pool.calls[tail].state.store(CallState::kEnded);
    tail = pool.calls[tail].tail;
  }
}

// Of the youngest calls.
inline void free_dead(ThreadCalls& thread, const Arrival& arrival) noexcept {
  std::uint32_t* link = &thread.youngest;
  for (unsigned looks = 0; looks < kMostLooks && *link != 0; ++looks) {
    const std::uint32_t number = *link;
    Call& call = pool.calls[number];
    if (!is_dead(call, number, arrival)) {
      link = &call.previous;
      continue;
    }
    *link = call.previous;
    end_tails(call);
    ++thread.left;
    free_call(thread, number);
  }
}

Histogram& histogram_of(const Call& call, const ThreadCalls& thread) noexcept {
  return pool.probes[call.probe].histograms[&thread - pool.threads];
}

inline void count(std::uint32_t number, const ThreadCalls& thread, const Ending& ending) noexcept {
  const Call& call = pool.calls[number];
  const std::uint64_t end = ending.time;
  const std::uint64_t ticks = end > call.start ? end - call.start : 0;  // never back, even if it is
  const auto ns =
      static_cast<std::uint64_t>(static_cast<unsigned __int128>(ticks) * pool.ns_per_tick >> 32);
  Histogram& histogram = histogram_of(call, thread);
  ++histogram.calls;
  ++histogram.buckets[bucket_of(ns)];
  histogram.sum_ns += ns;
  if (ns > histogram.max_ns) histogram.max_ns = ns;
  if (ending.unwound) ++histogram.unwound;
  if (ns > pool.probes[call.probe].slow_ns.load()) [[unlikely]] {
    keep_slow_call(number, thread, ns, ending, histogram);
  }
  if (call.is_sampled.load()) [[unlikely]]
    keep_sampled_call(number, ns, ending.unwound);
}

// Takes a call from the list. What is younger and was unwound was called from it, and is freed: its
// unwinder has passed it. False: not among the youngest.
inline bool unlink(ThreadCalls& thread, std::uint32_t wanted) noexcept {
  std::uint32_t* link = &thread.youngest;
  for (unsigned looks = 0; looks < kMostLooks && *link != 0; ++looks) {
    const std::uint32_t number = *link;
    Call& call = pool.calls[number];
    if (number == wanted || call.state.load() == CallState::kUnwound) {
      *link = call.previous;
      if (number == wanted) return true;
      free_call(thread, number);
    } else {
      link = &call.previous;
    }
  }
  return false;
}

// Everything that is still needed of the call was read: it may be used again from here on.
void finish(std::uint32_t number, const Ending& ending) noexcept {
  Call& call = pool.calls[number];
  ThreadCalls* thread = this_thread != nullptr ? this_thread : claim_thread();
  if (thread->busy == 0) {
    const Busy busy(*thread);
    count(number, *thread, ending);
    if (call.owner == thread && unlink(*thread, number)) return free_call(*thread, number);
  }
  const CallState before = call.state.exchange(CallState::kEnded);
  if (before == CallState::kLeft) release_call(number);
}

// With all whose functions jumped to this one's.
void finish_all(std::uint32_t number, const Ending& ending) noexcept {
  for (unsigned looks = 0; looks <= kMostTails && number != 0; ++looks) {
    const std::uint32_t tail = pool.calls[number].tail;
    finish(number, ending);
    number = tail;
  }
}

// The call whose thunk is the return address. 0: none.
inline std::uint32_t call_at(const Arrival& arrival) noexcept {
  const std::uint64_t distance = arrival.return_address() - thunk_return(0);
  const bool is_thunk = distance < kCallCount * kThunkBytes && distance % kThunkBytes == 0;
  return is_thunk ? static_cast<std::uint32_t>(distance / kThunkBytes) : 0;
}

// A call by a jump returns to where the function that jumped does.
inline bool is_from_site(const Probe& probe, const Arrival& arrival) noexcept {
  const std::uint32_t tail = call_at(arrival);
  const std::uint64_t address =
      tail == 0 ? arrival.return_address() : swipr_trace_returns[tail].address_minus_1 + 1;
  const std::uint32_t count = probe.site_count.load();
  for (std::uint32_t site = 0; site < count && site < kMostSites; ++site) {
    if (probe.sites[site] == address) return true;
  }
  return false;
}

inline void open(ThreadCalls& thread, std::uint32_t number, std::uint32_t probe,
                 const Arrival& arrival, std::uint64_t copy) noexcept {
  Call& call = pool.calls[number];
  const std::uint32_t tail = call_at(arrival);
  call.slot = arrival.slot();
  call.owner = &thread;
  call.number = ++thread.last_number;
  call.previous = thread.youngest;
  call.probe = probe;
  call.tail = tail;
  call.tail_count = 0;
  call.is_tail = false;
  call.is_detailed = false;
  call.is_sampled.store(false);
  call.start = 0;
  call.state.store(CallState::kOpen);
  swipr_trace_returns[number] = {.address_minus_1 = arrival.return_address() - 1, .copy = copy};
  if (tail != 0) {
    call.tail_count = static_cast<std::uint16_t>(pool.calls[tail].tail_count + 1);
    pool.calls[tail].is_tail = true;
    swipr_trace_returns[number].address_minus_1 = swipr_trace_returns[tail].address_minus_1;
  }
  order();  // a handler that finds the thunk finds the call
  arrival.return_to(thunk_return(number));
  order();
  thread.youngest = number;
}

// The call that the exception leaves. The unwinder is not asked: which one it is, of libgcc and
// libunwind, is unknown here, and so is what its context looks like. Frames are left from the
// inside to the outside, so it is the call with the lowest slot above the stack pointer, of several
// with one slot the youngest, which the others end with. 0: none.
std::uint32_t innermost(const ThreadCalls& thread, const std::uint64_t* stack) noexcept {
  std::uint32_t best = 0;
  std::uint32_t number = thread.youngest;
  for (std::size_t looks = 0; looks < kCallCount && number != 0; ++looks) {
    const Call& call = pool.calls[number];
    const bool is_open = call.state.load() == CallState::kOpen;
    if (is_open && call.slot > stack &&
        (best == 0 || call.slot < pool.calls[best].slot ||
         (call.slot == pool.calls[best].slot && call.number > pool.calls[best].number))) {
      best = number;
    }
    number = call.previous;
  }
  return best;
}

// Calls with one thunk are counted, and kept: the unwinder reads the thunk's return address next,
// and a handler that interrupts it may make traced calls.
void unwind(ThreadCalls& thread, std::uint32_t number, std::uint64_t end) noexcept {
  const Busy busy(thread);
  for (unsigned looks = 0; looks <= kMostTails && number != 0; ++looks) {
    Call& call = pool.calls[number];
    count(number, thread, {.time = end, .result = 0, .unwound = true});
    number = call.tail;
    call.tail = 0;
    call.is_tail = false;
    call.state.store(CallState::kUnwound);
  }
}

}  // namespace

void exclude_this_thread() noexcept { this_thread = &excluded; }

const ThreadCalls* calls_of_thread(std::int32_t tid) noexcept {
  if (tid == 0) return this_thread;
  for (std::size_t place = 0; place < kThreadCount; ++place) {
    if (pool.threads[place].tid.load() == tid) return &pool.threads[place];
  }
  return nullptr;
}

void renumber_this_thread() noexcept {
  pool.pid = call_kernel(SYS_getpid);
  if (this_thread != nullptr && this_thread != &excluded) {
    this_thread->tid.store(call_kernel(SYS_gettid));
  }
}

void release_call(std::uint32_t number) noexcept {
  pool.calls[number].state.store(CallState::kFree);
  push_free(number);
}

extern "C" {

Destination swipr_trace_enter(std::uint32_t probe_number, std::uint64_t* slot, std::uint64_t frame,
                              std::uint64_t base) noexcept;
std::uint64_t swipr_trace_exit(std::uint32_t number, std::uint64_t result) noexcept;
int swipr_trace_personality(int version, int actions, std::uint64_t exception_class,
                            void* exception, void* context) noexcept;

Destination swipr_trace_enter(std::uint32_t probe_number, std::uint64_t* slot, std::uint64_t frame,
                              std::uint64_t base) noexcept {
  const Probe& probe = pool.probes[probe_number];
  const Arrival arrival(slot, base);
  const Destination untraced = arrival.untraced(probe.copy);
  if (probe.enabled.load() == 0) return untraced;
  ThreadCalls* const thread = this_thread != nullptr ? this_thread : claim_thread();
  if (thread->busy != 0) return untraced;
  if (probe.site_count.load() != 0 && !is_from_site(probe, arrival)) {
    ++probe.histograms[thread - pool.threads].elsewhere;
    return untraced;
  }
  const Busy busy(*thread);
  free_dead(*thread, arrival);
  const std::uint32_t tail = call_at(arrival);
  const bool has_room = tail == 0 || pool.calls[tail].tail_count < kMostTails;
  if (!has_room || (thread->free_count == 0 && !refill(*thread))) {
    ++probe.histograms[thread - pool.threads].untraced;
    return untraced;
  }
  const std::uint32_t number = thread->free_calls[--thread->free_count];
  open(*thread, number, probe_number, arrival, probe.copy);
  if (probe.keeps_details.load() != 0) keep_details(number, arrival, frame);
  pool.calls[number].start = read_ticks();
  return arrival.traced(thunk_of(number));
}

std::uint64_t swipr_trace_exit(std::uint32_t number, std::uint64_t result) noexcept {
  const std::uint64_t end = read_ticks();
  const std::uint64_t address = swipr_trace_returns[number].address_minus_1 + 1;
  finish_all(number, {.time = end, .result = result, .unwound = false});
  return address;
}

// Source: Itanium C++ ABI: Exception Handling, 1.3 and 2.5.2.
int swipr_trace_personality(int, int actions, std::uint64_t, void*, void*) noexcept {
  constexpr int kCleanupPhase = 2;
  constexpr int kContinueUnwind = 8;
  ThreadCalls* const thread = this_thread;
  const bool has_calls = thread != nullptr && thread->busy == 0;
  if ((actions & kCleanupPhase) == 0 || !has_calls) return kContinueUnwind;
  const std::uint64_t end = read_ticks();
  const auto* const stack = static_cast<const std::uint64_t*>(__builtin_frame_address(0));
  const std::uint32_t number = innermost(*thread, stack);
  if (number != 0) unwind(*thread, number, end);
  return kContinueUnwind;
}

}  // extern "C"

}  // namespace swipr::trace
