// How the calls that a stack is in are asked for.
// Context: signal handler or control thread.
#pragma once

#include <cstdint>
#include <span>

#include "preload/unwind/base/open_calls.h"

namespace swipr::unwind {

#if defined(__x86_64__)
// Those that return by the word at `address`.
using AddCalls = void(std::uint64_t address, std::uint64_t word, OpenCalls& out) noexcept;
#elif defined(__aarch64__)
// Return addresses have no fixed place, so calls are those of the thread's list.
struct StackOfCalls {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  // Of each frame: a call returns to one. None: all calls between begin and end.
  std::span<const std::uint64_t> pointers;
  std::span<const std::uint64_t> pcs;
};
// `tid` 0: the calling thread.
using AddCalls = void(std::int32_t tid, const StackOfCalls& stack, OpenCalls& out) noexcept;
#endif

}  // namespace swipr::unwind
