// A traced function in assembly keeps all registers and flags, and so must tracing: callers that
// know a function rely on what it leaves alone.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "tests/unit/preload/trace/traced.h"

// Changes nothing but x9 (adds 1) and the flag C (sets it). The second one lands and signs.
asm(R"(.pushsection .text
.p2align 4
.globl swipr_traced_leaf
.hidden swipr_traced_leaf
.type swipr_traced_leaf,@function
swipr_traced_leaf:
	.cfi_startproc
	add	x9, x9, #1
	cmp	xzr, xzr
	ret
	.cfi_endproc
.size swipr_traced_leaf,.-swipr_traced_leaf

.globl swipr_traced_signer
.hidden swipr_traced_signer
.type swipr_traced_signer,@function
swipr_traced_signer:
	.cfi_startproc
	hint	#25	/* paciasp */
	.cfi_negate_ra_state
	add	x9, x9, #1
	cmp	xzr, xzr
	hint	#29	/* autiasp */
	.cfi_negate_ra_state
	ret
	.cfi_endproc
.size swipr_traced_signer,.-swipr_traced_signer

/* x0: x0 to x29, then d0 to d31, flags, x30 afterwards. x1: the function. Loads all, calls, stores
   all. The pointers are on the stack, so that x0 to x17 are the caller's choice. */
.globl swipr_call_with_registers
.hidden swipr_call_with_registers
.type swipr_call_with_registers,@function
swipr_call_with_registers:
	stp	x29, x30, [sp, #-112]!
	stp	x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]; stp x27, x28, [sp, #80]; stp x0, x1, [sp, #96]
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	ldr	d\n, [x0, #240+8*\n]
	.endr
	ldr	x2, [x0, #496]
	msr	nzcv, x2
	mov	x30, x1
	.irp	n, 29,28,27,26,25,24,23,22,21,20,19,18,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0
	ldr	x\n, [x0, #8*\n]
	.endr
	blr	x30
	str	x30, [sp, #-16]!
	str	x0, [sp, #8]
	ldr	x0, [sp, #112]
	.irp	n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29
	str	x\n, [x0, #8*\n]
	.endr
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	str	d\n, [x0, #240+8*\n]
	.endr
	mrs	x2, nzcv
	str	x2, [x0, #496]
	ldp	x3, x2, [sp], #16
	str	x2, [x0]
	str	x3, [x0, #504]
	ldp	x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]
	ldp	x29, x30, [sp], #112
	ret
.size swipr_call_with_registers,.-swipr_call_with_registers
.popsection)");

extern "C" void swipr_traced_leaf();
extern "C" void swipr_traced_signer();
extern "C" void swipr_call_with_registers(std::uint64_t*, void (*)());

namespace swipr::trace {
namespace {

constexpr std::size_t kX9 = 9;
constexpr std::size_t kFlags = 62;
constexpr std::size_t kLink = 63;
using State = std::array<std::uint64_t, 64>;

State with_flags(std::uint64_t flags) {
  State state;
  for (std::size_t index = 0; index < state.size(); ++index) state[index] = 0x1111 * index + 7;
  state[kFlags] = flags;
  return state;
}

State after_call(State state, void (*function)()) {
  swipr_call_with_registers(state.data(), function);
  return state;
}

class TracedRegisters : public testing::TestWithParam<void (*)()> {};

TEST_P(TracedRegisters, AreAllKept) {
  const std::uint64_t link = after_call(with_flags(0), GetParam())[kLink];
  const Traced traced(GetParam());
  std::uint64_t calls = 0;
  constexpr std::uint64_t kZero = 1u << 30, kCarry = 1u << 29;  // of two equal values
  for (std::uint64_t bits = 0; bits < 16; ++bits) {
    State wanted = with_flags(kZero | kCarry);
    ++wanted[kX9];
    wanted[kLink] = link;
    EXPECT_EQ(after_call(with_flags(bits << 28), GetParam()), wanted) << bits;
    EXPECT_EQ(traced.calls(), ++calls);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TracedRegisters,
                         testing::Values(&swipr_traced_leaf, &swipr_traced_signer));

}  // namespace
}  // namespace swipr::trace
