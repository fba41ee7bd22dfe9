// Traced calls that have not returned, and the threads that made them.
//
// A call is numbered by its thunk. Its thread keeps it in a list, the youngest first. Whoever
// returns through a thunk takes everything from the thunk's number: lists only serve exceptions,
// and calls that longjmp has left.
//
// A function that ends in a jump to another traced one leaves two calls with one return address.
// Only the younger has a thunk on the stack: with two, unwinders could not tell their frames apart.
//
// Another thread may end a call (a coroutine that was resumed there): it marks the call, and the
// list's owner, or who reclaims the lists of ended threads, frees it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/trace/base/atomic.h"
#include "preload/trace/calls/histogram.h"
#include "preload/trace/calls/machine.h"
#include "preload/trace/calls/pool_size.h"

namespace swipr::trace {

inline constexpr std::size_t kPages = SWIPR_TRACE_PAGES;
inline constexpr std::size_t kThunksInPage = 256;  // the first is the header
inline constexpr std::size_t kCallCount = kPages * kThunksInPage;
inline constexpr std::size_t kThunkBytes = 16;
inline constexpr std::size_t kEntryBytes = 16;
inline constexpr std::size_t kProbeCount = SWIPR_TRACE_ENTRY_BYTES / kEntryBytes;
inline constexpr std::size_t kThreadCount = 512;
inline constexpr unsigned kMostTails = 64;  // calls that end together

// What a thunk and its call frame information read.
struct Return {
  std::uint64_t address_minus_1;
  std::uint64_t copy;
};
static_assert(sizeof(Return) == kThunkBytes, "found at the thunk's offset");

// kUnwound: left by an exception and counted. Its unwinder may still read the thunk's return
// address. kEnded: nobody needs it, its list has it. kLeft: its list is gone.
enum class CallState : std::uint8_t { kFree, kOpen, kUnwound, kEnded, kLeft };

struct ThreadCalls;

struct Call {
  std::uint64_t start;   // time stamp counter; 0: not begun yet
  std::uint64_t* slot;   // of the return address; aarch64: the stack pointer
  ThreadCalls* owner;    // whose list it is in
  std::uint64_t number;  // in the thread
  std::uint32_t previous;
  std::uint32_t probe;
  std::uint32_t tail;  // the call whose function jumped to this one's, and ends with it. 0: none
  std::uint16_t tail_count;  // of them
  bool is_tail;              // of another
  bool is_detailed;          // its CallDetails are its own
  Atomic<bool> is_sampled;   // a sample met it: its end is told
  Atomic<CallState> state;
};

// What is kept at the begin of a call that may turn out to be slow.
struct CallDetails {
  std::uint64_t arguments[6];  // of the ABI's registers, in its order
  std::uint64_t frame;         // the caller's frame and base registers (Arrival)
  std::uint64_t base;
};
static_assert(sizeof(CallDetails) == 64, "a cache line");

struct ThreadCalls {
  Atomic<std::int32_t> tid{};  // 0: free
  std::uint32_t busy = 0;      // a hook is at work, or never is to be
  std::uint32_t youngest = 0;  // 0: none
  std::uint32_t free_count = 0;
  std::uint64_t last_number = 0;
  std::uint64_t was_used = 0;  // a thread has had this place
  std::uint64_t left = 0;      // calls that were found to be left by longjmp
  std::uint32_t free_calls[32] = {};
};

inline constexpr std::size_t kMostSites = 32;
inline constexpr std::uint64_t kNeverSlow = ~std::uint64_t{0};

struct Probe {
  Atomic<std::uint32_t> enabled;
  Atomic<std::uint32_t> keeps_details;
  std::uint64_t copy;             // of the function's beginning
  Histogram* histograms;          // of each thread
  Atomic<std::uint64_t> slow_ns;  // longer calls are kept, see slow_calls.h
  Atomic<std::uint64_t> strings;  // of these, a byte for each argument: where its string is
  Atomic<std::uint32_t> site_count;
  std::uint64_t sites[kMostSites];  // return addresses of the calls that are measured; none: all
};

// All of it, constant-initialised; memory is mapped by prepare_pool().
struct Pool {
  Atomic<std::uint32_t> fresh;             // batches of calls that were never used
  Atomic<std::uint64_t> free_head;         // a count in the upper half, a call in the lower
  Atomic<std::uint32_t>* next_free;        // of each call
  Call* calls;                             // kCallCount
  CallDetails* details;                    // of each call
  ThreadCalls* threads;                    // kThreadCount
  Atomic<std::uint32_t> threads_left_out;  // that found no place of their own
  std::int32_t pid;
  std::uint64_t ns_per_tick;   // 32 bits of fraction
  std::uint64_t ns_per_stamp;  // what reading the counter takes
  Probe probes[kProbeCount];
};
extern Pool pool;

extern "C" {
extern std::uint8_t swipr_trace_entries[];
extern std::uint8_t swipr_trace_thunks[];
extern Return swipr_trace_returns[];
void swipr_trace_common_entry();
void swipr_trace_common_exit();
}

inline std::uint64_t thunk_of(std::uint32_t call) noexcept {
  return reinterpret_cast<std::uint64_t>(swipr_trace_thunks) + call * kThunkBytes;
}
// Of the thunk's call instruction.
inline std::uint64_t thunk_return(std::uint32_t call) noexcept {
  return thunk_of(call) + kThunkReturn;
}

// The calling thread is never traced: what it calls may be traced, and must not wait for it.
void exclude_this_thread() noexcept;
// Of a thread; 0: the calling one. nullptr: none.
const ThreadCalls* calls_of_thread(std::int32_t tid) noexcept;
// In the child of a fork: this thread, the only one, keeps its open calls.
void renumber_this_thread() noexcept;
// A call that is in nobody's list.
void release_call(std::uint32_t number) noexcept;

}  // namespace swipr::trace
