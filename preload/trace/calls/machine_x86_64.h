// Context: hooks and control thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace swipr::trace {

// Of the stack, that the return address takes.
inline constexpr std::size_t kReturnWords = 1;

// A thunk has a call (6 bytes), a push (5) and a jump.
inline constexpr std::uint64_t kThunkReturn = 6;

// Where the tables of hooks lie: far from all code.
inline constexpr std::uint64_t kPoolMemory = 0x2000'0000'0000;

inline constexpr const char* kLacksInstructions = "the processor lacks an instruction (LAHF)";

// The time stamp counter. It is not serialised: instructions around it may overlap it.
inline std::uint64_t read_ticks() noexcept { return __builtin_ia32_rdtsc(); }

// A system call without arguments.
inline std::int32_t call_kernel(long number) noexcept {
  asm volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
  return static_cast<std::int32_t>(number);
}

// Where a hook continues.
struct Destination {
  std::uint64_t address;
  std::uint64_t is_traced;
};

// A function that was just called: its return address is on the stack.
class Arrival {
 public:
  Arrival(std::uint64_t* slot, std::uint64_t base) noexcept : slot_(slot), base_(base) {}

  std::uint64_t* slot() const noexcept { return slot_; }
  std::uint64_t return_address() const noexcept { return *slot_; }
  // Pushed by the common entry: its last six words, above them four more and the probe's number.
  std::uint64_t argument(std::ptrdiff_t number) const noexcept { return slot_[number - 11]; }
  // The caller's base register (preload/unwind/base/architecture.h).
  std::uint64_t base() const noexcept { return base_; }

  // The thunk stores the same: is_left() relies on it from here on.
  void return_to(std::uint64_t thunk_return) const noexcept { *slot_ = thunk_return; }
  Destination untraced(std::uint64_t copy) const noexcept {
    return {.address = copy, .is_traced = 0};
  }
  Destination traced(std::uint64_t thunk) const noexcept {
    return {.address = thunk, .is_traced = 1};
  }

  // An earlier call cannot return any more, because the memory of its return address is below the
  // stack and above `own`, the hook's frame, or has another return address.
  bool shows_left(const std::uint64_t* slot, std::uint64_t thunk_return, std::uint64_t /*to*/,
                  const std::uint64_t* own) const noexcept {
    if (slot == slot_) return *slot_ != thunk_return;
    return slot > own && slot < slot_;
  }

 private:
  std::uint64_t* slot_;
  std::uint64_t base_;
};

}  // namespace swipr::trace
