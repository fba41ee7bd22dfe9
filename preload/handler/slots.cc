#include "preload/handler/slots.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "common/core/errno_saver.h"
#include "preload/handler/label_slots.h"
#include "preload/handler/runtime_slots.h"
#include "preload/unwind/base/replaced_code.h"
#include "preload/unwind/walk/page_probe_reader.h"
#include "preload/unwind/walk/stack_calls.h"
#include "preload/unwind/walk/stack_words.h"

namespace swipr::handler {

constinit Shared shared;

Slot* try_claim(Cookie cookie) noexcept {
  Slot* slots = shared.slots.load(std::memory_order_acquire);
  if (slots == nullptr || cookie.slot >= kSlotCount) return nullptr;
  Slot& slot = slots[cookie.slot];
  std::uint64_t expected = slot_state(cookie.sequence, SlotStatus::kArmed);
  const bool claimed = slot.state.compare_exchange_strong(
      expected, slot_state(cookie.sequence, SlotStatus::kClaimed), std::memory_order_acquire,
      std::memory_order_relaxed);
  if (!claimed) return nullptr;
  shared.armed.fetch_sub(1, std::memory_order_relaxed);
  return &slot;
}

Slot* try_claim_open(std::uint64_t timer_value) noexcept {
  constexpr int kAttempts = 64;
  std::uint64_t open = shared.open.load(std::memory_order_relaxed);
  for (int attempt = 0; attempt < kAttempts && open != 0; ++attempt) {
    const std::uint64_t lowest = open & (~open + 1);
    if (!shared.open.compare_exchange_weak(open, open & ~lowest, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      continue;
    }
    Slot& slot = shared.open_slots.load(std::memory_order_relaxed)[__builtin_ctzll(lowest)];
    slot.state.store(slot_state(kOpenSequence, SlotStatus::kClaimed), std::memory_order_relaxed);
    slot.timer_value = timer_value;
    return &slot;
  }
  return nullptr;
}

bool find_cookie(std::int32_t thread, Cookie& out) noexcept {
  const Slot* slots = shared.slots.load(std::memory_order_acquire);
  if (slots == nullptr) return false;
  for (std::uint32_t number = 0; number < kSlotCount; ++number) {
    if (shared.targets[number].load(std::memory_order_relaxed) != thread) continue;
    const std::uint64_t state = slots[number].state.load(std::memory_order_acquire);
    const std::uint64_t sequence = state >> 2;
    if (state != slot_state(sequence, SlotStatus::kArmed)) continue;
    out = {sequence, number};
    return true;
  }
  return false;
}

namespace {

// As far as it can be read and `room` permits. Includes the red zone, which may hold the saved
// value of a register that was just restored.
void copy_stack(Slot& slot, std::span<std::uint64_t> room,
                unwind::PageProbeReader& memory) noexcept {
  const std::uint64_t stack = slot.stopped.values[unwind::kStackRegister];
  const std::size_t count = std::min<std::size_t>(room.size(), kMaxCopiedWords);
  std::uint64_t first = 0;
  const bool has_red_zone = memory.read_word(stack - unwind::kRedZoneBytes, first);
  slot.copied_from = has_red_zone ? stack - unwind::kRedZoneBytes : stack;
  std::uint64_t address = slot.copied_from;
  for (std::size_t at = 0; at < count && memory.read_word(address, room[at]); ++at) {
    room[at] = unwind::original_return_address(room[at]);  // it may stand for another one later
    address += sizeof(std::uint64_t);
    ++slot.copied_words;
  }
}

// Also serves to continue a walk that ended at a table that is not built: its frame is at a higher
// address.
void copy_words(Slot& slot, const unwind::CodeMap& map, unwind::PageProbeReader& memory) noexcept {
  slot.copied_from = slot.frames.hole.stack;
  const auto room = std::span(slot.frames.pcs).subspan(slot.frames.frame_count);
  slot.copied_words =
      static_cast<std::uint32_t>(unwind::keep_stack_words(map, memory, slot.copied_from, room));
  slot.copy = Slot::Copy::kWords;
}

// Where the slot's stack is copied if it is not walked here; empty: it is walked.
std::span<std::uint64_t> copy_of(const Slot& slot) noexcept {
  std::uint64_t* const copies = shared.stack_copies.load(std::memory_order_acquire);
  if (copies == nullptr) [[likely]]
    return {};
  const std::uint32_t number = slot_number(slot);
  if (number == kNoSlotNumber) return {};
  return {copies + std::size_t{number} * kStackCopyWords, kStackCopyWords};
}

// Such a copy extends beyond the end of the stack, where another thread may unmap memory at any
// time. The kernel copies up to the first unreadable page. False: it refuses. syscall() takes
// longs: of an int, the upper half may be anything where arguments are passed on the stack. Source:
// kernel, mm/process_vm_access.c.
bool copy_all_at_once(Slot& slot, std::span<std::uint64_t> room) noexcept {
  const std::uint64_t start = slot.stopped.values[unwind::kStackRegister] - unwind::kRedZoneBytes;
  const iovec local{room.data(), room.size_bytes()};
  const iovec remote{reinterpret_cast<void*>(start), room.size_bytes()};
  const ErrnoSaver errno_saver;
  const long size = ::syscall(SYS_process_vm_readv, ::getpid(), &local, 1L, &remote, 1L, 0L);
  if (size <= 0) return false;
  slot.copied_from = start;
  slot.copied_words = static_cast<std::uint32_t>(size) / sizeof(std::uint64_t);
  return true;
}

// Set as if the first frame's table were not built, so that the control thread walks the copy.
unwind::WalkEnd leave_to_agent(Slot& slot, std::span<std::uint64_t> room,
                               unwind::PageProbeReader& memory) noexcept {
  slot.stopped = slot.registers;
  slot.frames.pcs[0] = slot.registers.values[unwind::kPcRegister];
  slot.frames.kinds[0] = unwind::kExactFrame;
  slot.frames.frame_count = 1;
  slot.frames.flags = 0;
  slot.frames.omitted_at = 0;
  slot.apart = room.data();
  slot.copy = Slot::Copy::kUnwalked;
  if (!copy_all_at_once(slot, room)) copy_stack(slot, room, memory);
  return unwind::WalkEnd::kUnbuilt;
}

// Words of the stack from copied_from on.
std::uint64_t copied_extent(const Slot& slot) noexcept {
  const auto words = slot.copied_stack();
  if (slot.copy != Slot::Copy::kWords || words.empty()) return words.size();
  return words.back() >> unwind::kStackWordBits;
}

// Of the stack that was walked or copied just now. In a copy the words are no thunks' any more.
[[gnu::noinline]] void find_calls(Slot& slot, unwind::PageProbeReader& memory) noexcept {
  const bool is_whole = (slot.frames.flags & wire::kStackRootReached) != 0;
  if (slot.copy == Slot::Copy::kNone || is_whole) {
    return unwind::find_stack_calls(0, slot.frames, memory, slot.calls);
  }
  const std::uint64_t stack = slot.registers.values[unwind::kStackRegister];
  const std::uint64_t end = slot.copied_from + copied_extent(slot) * sizeof(std::uint64_t);
  if (end < stack) return;
  unwind::find_calls_of_words(stack, (end - stack) / sizeof(std::uint64_t), memory, slot.calls);
}

}  // namespace

std::uint32_t slot_number(const Slot& slot) noexcept {
  const auto distance = [&slot](const Slot* first) noexcept {
    const auto bytes =
        reinterpret_cast<std::uint64_t>(&slot) - reinterpret_cast<std::uint64_t>(first);
    return bytes / sizeof(Slot);
  };
  const std::uint64_t number = distance(shared.slots.load(std::memory_order_relaxed));
  if (number < kSlotCount) return static_cast<std::uint32_t>(number);
  const std::uint64_t open = distance(shared.open_slots.load(std::memory_order_relaxed));
  return open < kOpenSlotCount ? kSlotCount + static_cast<std::uint32_t>(open) : kNoSlotNumber;
}

void fill_slot(Slot& slot, Cookie cookie, std::uint64_t readable) noexcept {
  slot.frames.frame_count = 0;
  slot.frames.claim_count = 0;
  slot.frames.hole = {};
  slot.copy = Slot::Copy::kNone;
  slot.copied_words = 0;
  slot.end = unwind::WalkEnd::kNoRule;
  slot.calls.clear();
  // The count is incremented before the load. Both are in one total order with the agent's store
  // and its load of the count: a handler that is not counted loads the new map.
  shared.pins.fetch_add(1, std::memory_order_seq_cst);
  const unwind::CodeMap* map = shared.code_map.load(std::memory_order_seq_cst);
  if (map != nullptr) {
    unwind::PageProbeReader memory(readable);
    const RuntimeOfSlot runtime = begin_runtime(slot);
    const std::span<std::uint64_t> apart = copy_of(slot);
    slot.end = apart.empty() ? walk_stack(slot, *map, memory, runtime)
                             : leave_to_agent(slot, apart, memory);
    if (apart.empty() && (slot.end != unwind::WalkEnd::kRoot || slot.frames.hole.exists))
        [[unlikely]] {
      if (unwind::has_lost_caller(slot.frames) || unwind::may_skip_callers(slot.frames)) {
        copy_words(slot, *map, memory);
      } else if (slot.end == unwind::WalkEnd::kUnbuilt) {
        copy_stack(slot, std::span(slot.frames.pcs).subspan(slot.frames.frame_count), memory);
        slot.copy = Slot::Copy::kWhole;
      }
    }
    if (unwind::calls_are_followed.load(std::memory_order_relaxed)) [[unlikely]]
      find_calls(slot, memory);
    take_tokens(slot, runtime);
  }
  take_labels(slot);
  shared.pins.fetch_sub(1, std::memory_order_release);
  slot.state.store(slot_state(cookie.sequence, SlotStatus::kDone), std::memory_order_release);
}

void set_target(std::uint32_t slot, Tid thread) noexcept {
  shared.targets[slot].store(thread.value, std::memory_order_relaxed);
}

void arm_slot(Slot& slot, std::uint64_t sequence) noexcept {
  shared.armed.fetch_add(1, std::memory_order_relaxed);
  slot.state.store(slot_state(sequence, SlotStatus::kArmed), std::memory_order_release);
}

SlotStatus slot_status(const Slot& slot, std::uint64_t sequence) noexcept {
  const std::uint64_t state = slot.state.load(std::memory_order_acquire);
  return state >> 2 == sequence ? static_cast<SlotStatus>(state & 3) : SlotStatus::kIdle;
}

bool try_cancel_slot(Slot& slot, std::uint64_t sequence) noexcept {
  std::uint64_t expected = slot_state(sequence, SlotStatus::kArmed);
  const bool cancelled =
      slot.state.compare_exchange_strong(expected, slot_state(sequence, SlotStatus::kIdle),
                                         std::memory_order_acq_rel, std::memory_order_relaxed);
  if (cancelled) shared.armed.fetch_sub(1, std::memory_order_release);
  return cancelled;
}

void free_slot(Slot& slot, std::uint64_t sequence) noexcept {
  slot.state.store(slot_state(sequence, SlotStatus::kIdle), std::memory_order_relaxed);
}

void forget_after_fork() noexcept {
  shared.slots.store(nullptr, std::memory_order_relaxed);
  shared.open_slots.store(nullptr, std::memory_order_relaxed);
  shared.open.store(0, std::memory_order_relaxed);
  shared.armed.store(0, std::memory_order_relaxed);
  shared.stack_copies.store(nullptr, std::memory_order_relaxed);
  shared.code_map.store(nullptr, std::memory_order_relaxed);
  runtime_shared.snapshot.store(nullptr, std::memory_order_relaxed);
  runtime_shared.slots.store(nullptr, std::memory_order_relaxed);
  label_slots.store(nullptr, std::memory_order_relaxed);
  shared.pins.store(0, std::memory_order_relaxed);
  unwind::calls_are_followed.store(false, std::memory_order_relaxed);
}

bool retired_maps_are_free() noexcept { return shared.pins.load(std::memory_order_seq_cst) == 0; }

}  // namespace swipr::handler
