// DWARF expressions as they occur in call frame information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/core/signal_safe.h"
#include "preload/unwind/base/registers.h"

namespace swipr::unwind {

inline constexpr std::size_t kExpressionStack = 8;  // expressions in libraries need 4
inline constexpr unsigned kExpressionSteps = 64;    // bounds loops made by DW_OP_skip and DW_OP_bra

enum class EvaluateStatus : std::uint8_t { kOk, kUnreadable, kUnknownRegister, kInvalid };

// Evaluates with `initial` on the stack (the CFA, for a register's location), or with an empty
// stack. Context: signal handler or control thread.  Allocates: never.  Errno: kept. Bounds:
// kExpressionSteps operations, about 200 bytes of stack. Source: DWARF 5, section 2.5.
SWIPR_SIGNAL_SAFE EvaluateStatus evaluate(std::span<const std::byte> expression,
                                          const Registers& registers, StackReader reader,
                                          const std::uint64_t* initial,
                                          std::uint64_t& result) noexcept;

}  // namespace swipr::unwind
