// Code that is executed in place of the program's own while functions are traced (preload/trace),
// and what walks have to take it for.
// Context: signal handler or control thread.  Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"
#include "preload/unwind/base/calls_of_stack.h"
#include "preload/unwind/base/open_calls.h"

namespace swipr::unwind {

struct CodePlace {
  std::uint64_t pc = 0;
  std::uint64_t stack = 0;  // stack pointer
};

struct ReplacedCode {
  // The place in the program's own code with the same caller and the same registers, or `place`.
  // Not `exact`: the pc is a return address.
  CodePlace (*original_place)(CodePlace place, bool exact) noexcept;
  // Undoes changes in bytes that were read from `address` on.
  void (*restore)(std::uint64_t address, std::span<std::uint8_t> bytes) noexcept;
  // Adds calls that a stack is in. Whose stack it is does not run, or asks itself.
  AddCalls* add_calls;
  // Their ends are told (preload/trace/calls/sampled_calls.h). Before they can end.
  void (*note_sampled)(const OpenCalls& calls) noexcept;
};

// nullptr: no function was ever traced. Set once.
inline constinit std::atomic<const ReplacedCode*> replaced_code{nullptr};
// Calls of sampled stacks are wanted. Only with replaced_code.
inline constinit std::atomic<bool> calls_are_followed{false};

SWIPR_SIGNAL_SAFE inline CodePlace original_place(CodePlace place, bool exact) noexcept {
  const ReplacedCode* const replaced = replaced_code.load(std::memory_order_acquire);
  if (replaced == nullptr) [[likely]]
    return place;
  return replaced->original_place(place, exact);
}

// Of a word of a stack.
SWIPR_SIGNAL_SAFE inline std::uint64_t original_return_address(std::uint64_t address) noexcept {
  return original_place({.pc = address}, false).pc;
}

}  // namespace swipr::unwind
