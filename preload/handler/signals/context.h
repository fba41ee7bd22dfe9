// What the kernel has saved of the code that a signal has interrupted.
#pragma once

#include <ucontext.h>

#include <cstdint>

#include "common/core/signal_safe.h"
#include "preload/unwind/base/registers.h"

namespace swipr::handler {

SWIPR_SIGNAL_SAFE void take_registers(const ucontext_t& context, unwind::Registers& out) noexcept;

// The last byte of the kernel's signal frame that certainly can be read: if it is in the page of
// the interrupted stack pointer, the first page of a walk needs no probe.
SWIPR_SIGNAL_SAFE std::uint64_t last_written_byte(const ucontext_t& context) noexcept;

// Code is being changed (trace::answer_gate): moves the pc out of it. Calls nothing of libc.
SWIPR_SIGNAL_SAFE void move_out_of_change(ucontext_t& context, std::uint64_t value) noexcept;

}  // namespace swipr::handler
