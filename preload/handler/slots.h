// Data shared by the control thread and the signal handler: a pool of slots, each for one stack,
// and the code map for walks.
//
// A slot's state word is a sequence number and a status. The agent arms a slot (IDLE → ARMED) and
// sends a signal with the cookie {slot, sequence}; the handler claims it (ARMED → CLAIMED), walks
// into it and marks it DONE; the agent collects and frees it. The agent may cancel an armed slot;
// sequences never repeat, so a late handler finds nothing to claim.
//
// Signals of CPU timers are not requested: their handlers claim any open slot. A bit mask shows
// which slots are open.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/ids.h"
#include "common/core/signal_safe.h"
#include "preload/handler/mend_call.h"
#include "preload/unwind/base/open_calls.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::handler {

inline constexpr std::uint32_t kSlotCount = 512;
inline constexpr std::uint32_t kOpenSlotCount = 64;  // answers of CPU timers between two ticks
inline constexpr std::uint64_t kOpenSequence = 1;    // of all open slots, always
static_assert(kOpenSlotCount == 64, "a bit each");

enum class SlotStatus : std::uint8_t { kIdle = 0, kArmed = 1, kClaimed = 2, kDone = 3 };

constexpr std::uint64_t slot_state(std::uint64_t sequence, SlotStatus status) noexcept {
  return sequence << 2 | static_cast<std::uint64_t>(status);
}

struct Slot {
  std::atomic<std::uint64_t> state;
  // Valid once DONE:
  unwind::WalkEnd end;
  bool bare;                  // the signal arrived without its cookie
  MendedCall call;            // the system call that the signal interrupted
  std::uint64_t timer_value;  // of an open slot: whose timer it was (timed_threads.h)
  // Of the interrupted code. Here and not in the handler, whose stack may be small.
  unwind::Registers registers;
  unwind::FrameBuffer frames;
  unwind::OpenCalls calls;  // empty unless calls are followed
  // If the walk ended at a table that is not built: the registers of the last frame.
  unwind::Registers stopped;
  // If the control thread has to continue: words of the stack from this address on, in `frames.pcs`
  // after the frames.
  enum class Copy : std::uint8_t {
    kNone,
    kWhole,     // all of them: the walk ended at a table that is not built
    kWords,     // those that may be addresses (stack_words.h): a caller was lost, or skipped
    kUnwalked,  // the whole stack, in Shared::stack_copies: nothing was walked
  };
  Copy copy;
  std::uint64_t copied_from;
  std::uint32_t copied_words;
  const std::uint64_t* apart;  // where the words are with kUnwalked

  // The walk needed a table that was not built, and then more of the stack than was copied.
  bool is_cut_short() const noexcept {
    return copy == Copy::kWhole && end == unwind::WalkEnd::kUnreadable;
  }
  std::span<const std::uint64_t> copied_stack() const noexcept {
    if (copy == Copy::kUnwalked) return {apart, copied_words};
    return std::span(frames.pcs).subspan(frames.frame_count, copied_words);
  }
};
inline constexpr std::uint32_t kMaxCopiedWords = 1536;
// Of each slot in Shared::stack_copies: 128 KiB.
inline constexpr std::size_t kStackCopyWords = std::size_t{16} << 10;
inline constexpr std::size_t kStackCopiesBytes =
    (kSlotCount + kOpenSlotCount) * kStackCopyWords * sizeof(std::uint64_t);

// The value in the signal: slot in the low 16 bits, sequence above.
struct Cookie {
  std::uint64_t sequence = 0;
  std::uint32_t slot = 0;
};
inline constexpr unsigned kCookieSlotBits = 16;
static_assert(kSlotCount <= 1u << kCookieSlotBits);
constexpr std::uint64_t pack(Cookie cookie) noexcept {
  return cookie.sequence << kCookieSlotBits | cookie.slot;
}
constexpr Cookie unpack_cookie(std::uint64_t value) noexcept {
  return {value >> kCookieSlotBits,
          static_cast<std::uint32_t>(value & ((1u << kCookieSlotBits) - 1))};
}

// All data that the two sides share. Constant-initialised.
struct Shared {
  std::atomic<Slot*> slots{nullptr};       // kSlotCount of them, never unmapped once set
  std::atomic<Slot*> open_slots{nullptr};  // kOpenSlotCount of them, never unmapped once set
  std::atomic<std::uint64_t> open{0};      // a bit for each open slot that may be claimed
  // kStackCopiesBytes, never unmapped once set: handlers copy the stack instead of walking it.
  // nullptr: they walk.
  std::atomic<std::uint64_t*> stack_copies{nullptr};
  std::atomic<const unwind::CodeMap*> code_map{nullptr};
  std::atomic<std::uint32_t> pins{0};                  // handlers that use the code map
  std::atomic<std::uint32_t> armed{0};                 // slots that wait for an answer
  std::atomic<std::int32_t> targets[kSlotCount] = {};  // the thread that an armed slot is for
  std::atomic<std::uint64_t> strays{0};                // signals that found nothing to claim
};
extern Shared shared;

// The handler's side. nullptr: cancelled, or not armed with this cookie.
SWIPR_SIGNAL_SAFE Slot* try_claim(Cookie cookie) noexcept;
// Some thread has an outstanding signal.
SWIPR_SIGNAL_SAFE inline bool is_any_armed() noexcept {
  return shared.armed.load(std::memory_order_acquire) != 0;
}
// The cookie of a signal that is outstanding in this thread. False: none is.
SWIPR_SIGNAL_SAFE bool find_cookie(std::int32_t thread, Cookie& out) noexcept;
// nullptr: none is open, or too many threads claim one at the same time.
SWIPR_SIGNAL_SAFE Slot* try_claim_open(std::uint64_t timer_value) noexcept;
// Walks from the claimed slot's registers into its frames, or copies its stack (stack_copies), and
// marks it done. `readable`: a byte near the stack pointer that was written just now.
SWIPR_SIGNAL_SAFE void fill_slot(Slot& slot, Cookie cookie, std::uint64_t readable) noexcept;

// The number of a slot, then of an open slot: kSlotCount + its place.
inline constexpr std::uint32_t kNoSlotNumber = ~std::uint32_t{0};
SWIPR_SIGNAL_SAFE std::uint32_t slot_number(const Slot& slot) noexcept;

// The agent's side.
void set_target(std::uint32_t slot, Tid thread) noexcept;  // before it is armed
void arm_slot(Slot& slot, std::uint64_t sequence) noexcept;
SlotStatus slot_status(const Slot& slot, std::uint64_t sequence) noexcept;
// False: too late, a handler has claimed it or is done with it.
bool try_cancel_slot(Slot& slot, std::uint64_t sequence) noexcept;
void free_slot(Slot& slot, std::uint64_t sequence) noexcept;
// True: no handler can still hold a code map that was published before the current one.
bool retired_maps_are_free() noexcept;
// In the child of a fork, which has neither the slots' memory nor the code map.
void forget_after_fork() noexcept;

}  // namespace swipr::handler
