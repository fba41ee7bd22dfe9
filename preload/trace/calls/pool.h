// The pool of thunks and what belongs to it.
// Context: control thread.
#pragma once

#include <cstdint>

#include "preload/trace/calls/calls.h"

namespace swipr::trace {

enum class PoolStatus : std::uint8_t { kReady, kNoMemory, kNoClock, kNoInstructions };

// Before the first probe. Writes all thunks, measures the time stamp counter against
// CLOCK_MONOTONIC. kNoClock: the counter stops or changes its rate. kNoInstructions: a processor
// without LAHF in 64-bit mode. Blocks: 10 ms.
PoolStatus prepare_pool() noexcept;

// A probe that is not enabled yet. False: no memory. A probe that was set up keeps its memory.
bool set_up_probe(std::uint32_t probe, std::uint64_t copy) noexcept;
std::uint64_t entry_of(std::uint32_t probe) noexcept;

// What all threads have counted so far.
void add_up(std::uint32_t probe, Histogram& sum) noexcept;
// Calls that have not returned.
std::uint32_t open_calls() noexcept;

// Frees what threads that have ended left behind.
void reclaim_ended() noexcept;

// A return address that is a thunk's: what it stands for. Others are returned as they are.
// Context: anywhere.
std::uint64_t real_return_address(std::uint64_t address) noexcept;

}  // namespace swipr::trace
