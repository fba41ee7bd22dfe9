// The pool of thunks and what belongs to it.
// Context: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/trace/calls/calls.h"

namespace swipr::trace {

enum class PoolStatus : std::uint8_t {
  kReady,
  kNoMemory,
  kNotExecutable,  // the kernel refuses to make memory executable
  kNoClock,
  kNoInstructions,
};

// Memory of the process's life, none of it touched. nullptr: there is none.
void* map_pool_memory(std::size_t bytes) noexcept;

// Before the first probe. Writes all thunks, measures the time stamp counter against
// CLOCK_MONOTONIC. kNoClock: the counter stops or changes its rate. kNoInstructions: the processor
// cannot execute the thunks (kLacksInstructions). Blocks: 10 ms.
PoolStatus prepare_pool() noexcept;

// A probe that is not enabled yet. False: no memory. A probe that was set up keeps its memory.
bool set_up_probe(std::uint32_t probe, std::uint64_t copy) noexcept;
// Where the stub of its function jumps.
std::uint64_t entry_of(std::uint32_t probe) noexcept;

// What all threads have counted so far.
void add_up(std::uint32_t probe, Histogram& sum) noexcept;
// What those of one place have. False: nothing.
bool add_thread(std::uint32_t probe, std::size_t thread, Histogram& sum) noexcept;
// Calls so far, with those that were not measured: less is read than by add_up().
std::uint64_t count_calls(std::uint32_t probe) noexcept;
// What a traced call costs the program, on a quiet machine.
std::uint64_t cost_of_call_ns() noexcept;
// All calls of a function so far, with those that were not measured, and slow ones.
std::uint64_t cost_of_calls_ns(std::uint32_t probe) noexcept;
// Calls that have not returned.
std::uint32_t open_calls() noexcept;
// The same of one function; a thread's recursive calls are one.
std::uint32_t open_calls_of(std::uint32_t probe) noexcept;
// In the child of a fork, in its only thread: no call is measured until a probe is attached again.
void follow_fork() noexcept;

// Frees what threads that have ended left behind, after `before(state, place)`.
void reclaim_ended(void (*before)(void* state, std::size_t place) noexcept = nullptr,
                   void* state = nullptr) noexcept;

// Only calls that return to one of these are measured; none: all. While nobody uses the probe.
void set_sites(std::uint32_t probe, std::span<const std::uint64_t> sites) noexcept;
bool has_sites(std::uint32_t probe, std::span<const std::uint64_t> sites) noexcept;

// A return address that is a thunk's: what it stands for. Others are returned as they are.
// Context: anywhere.
std::uint64_t real_return_address(std::uint64_t address) noexcept;

}  // namespace swipr::trace
