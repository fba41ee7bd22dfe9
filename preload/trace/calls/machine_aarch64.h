// Context: hooks and control thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/machine/raw_syscall.h"

namespace swipr::trace {

// Of the stack, that the return address takes.
inline constexpr std::size_t kReturnWords = 0;

// A thunk has `blr x16`, `adr x30, .` and a jump.
inline constexpr std::uint64_t kThunkReturn = 4;

// Where the tables of hooks lie: far from all code, and below 2^39, because address spaces have 39
// to 48 bits, 42 with pages of 64 KiB if nobody chose. Source: Linux, arch/arm64/Kconfig,
// ARM64_VA_BITS (36 bits, too, in kernels for experts).
inline constexpr std::uint64_t kPoolMemory = 0x30'0000'0000;

inline constexpr const char* kLacksInstructions =
    "return addresses are signed in more bits than call frame information can remove";

// The counter of all processors. Source: Arm ARM, D12.1.2 (CNTVCT_EL0). Without ISB, as the time
// stamp counter of x86-64: instructions around it may overlap it. Coarse: a tick is 1 to 42 ns.
inline std::uint64_t read_ticks() noexcept {
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}

// A system call without arguments.
inline std::int32_t call_kernel(long number) noexcept {
  return static_cast<std::int32_t>(machine::raw_syscall(number));
}

// Where a hook continues, and the x30 that it continues with.
struct Destination {
  std::uint64_t address;
  std::uint64_t link;
};

// What the common entry saves (thunks_aarch64.S).
struct SavedRegisters {
  std::uint64_t x[16];
  std::uint64_t x18;
  std::uint64_t flags;
  std::uint64_t stub;
  std::uint64_t link;
};
static_assert(sizeof(SavedRegisters) == 160, "thunks_aarch64.S");

// A function that was just called: its return address is in x30. Its "slot" is the stack pointer,
// which it has again when it returns.
class Arrival {
 public:
  Arrival(std::uint64_t* stack, std::uint64_t saved) noexcept
      : stack_(stack), saved_(reinterpret_cast<const SavedRegisters*>(saved)) {}

  std::uint64_t* slot() const noexcept { return stack_; }
  std::uint64_t return_address() const noexcept { return saved_->link; }
  std::uint64_t argument(std::ptrdiff_t number) const noexcept { return saved_->x[number]; }
  std::uint64_t base() const noexcept { return 0; }  // not known in callers

  void return_to(std::uint64_t /*thunk_return*/) const noexcept {}
  // The instruction before the copy takes x16 and x17 back from the stack.
  Destination untraced(std::uint64_t copy) const noexcept {
    return {.address = copy - 4, .link = saved_->link};
  }
  Destination traced(std::uint64_t thunk) const noexcept {
    return {.address = thunk, .link = thunk};
  }

  // An earlier call `to` a return address cannot return any more. Below the stack, and above `own`,
  // the hook's frame: its frame is gone. With the same stack pointer: a function may call without
  // using the stack, if it keeps its return address in a register. Two such calls from one place
  // would keep it in the same register.
  bool shows_left(const std::uint64_t* slot, std::uint64_t thunk_return, std::uint64_t to,
                  const std::uint64_t* own) const noexcept {
    if (slot == stack_) return saved_->link == to && saved_->link != thunk_return;
    return slot > own && slot < stack_;
  }

 private:
  std::uint64_t* stack_;
  const SavedRegisters* saved_;
};

}  // namespace swipr::trace
