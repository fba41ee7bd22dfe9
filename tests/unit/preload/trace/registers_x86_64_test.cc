// A traced function in assembly keeps all registers and flags, and so must tracing: callers that
// know a function rely on what it leaves alone.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "tests/unit/preload/trace/traced.h"

// Changes nothing but r11 (adds 1) and CF (sets it).
asm(R"(.pushsection .text
.p2align 4
.globl swipr_traced_leaf
.hidden swipr_traced_leaf
.type swipr_traced_leaf,@function
swipr_traced_leaf:
	.cfi_startproc
	leaq	1(%r11), %r11
	nop
	stc
	ret
	.cfi_endproc
.size swipr_traced_leaf,.-swipr_traced_leaf

/* (%rdi): 15 general registers without rsp, then xmm0 to xmm15 (their lower halves), then flags.
   Loads all, calls, stores all. */
.globl swipr_call_with_registers
.hidden swipr_call_with_registers
.type swipr_call_with_registers,@function
swipr_call_with_registers:
	push	%rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rdi
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movq	120+8*\n(%rdi), %xmm\n
	.endr
	push	248(%rdi)
	popf
	movq	(%rdi), %rax; movq 8(%rdi), %rbx; movq 16(%rdi), %rcx; movq 24(%rdi), %rdx
	movq	32(%rdi), %rsi; movq 48(%rdi), %rbp; movq 56(%rdi), %r8; movq 64(%rdi), %r9
	movq	72(%rdi), %r10; movq 80(%rdi), %r11; movq 88(%rdi), %r12; movq 96(%rdi), %r13
	movq	104(%rdi), %r14; movq 112(%rdi), %r15; movq 40(%rdi), %rdi
	call	swipr_traced_leaf
	pushf
	push	%rdi
	movq	16(%rsp), %rdi
	movq	%rax, (%rdi); movq %rbx, 8(%rdi); movq %rcx, 16(%rdi); movq %rdx, 24(%rdi)
	movq	%rsi, 32(%rdi); movq %rbp, 48(%rdi); movq %r8, 56(%rdi); movq %r9, 64(%rdi)
	movq	%r10, 72(%rdi); movq %r11, 80(%rdi); movq %r12, 88(%rdi); movq %r13, 96(%rdi)
	movq	%r14, 104(%rdi); movq %r15, 112(%rdi)
	popq	40(%rdi)
	popq	248(%rdi)
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	movq	%xmm\n, 120+8*\n(%rdi)
	.endr
	pop	%rdi; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx
	ret
.size swipr_call_with_registers,.-swipr_call_with_registers
.popsection)");

extern "C" void swipr_traced_leaf();
extern "C" void swipr_call_with_registers(std::uint64_t*);

namespace swipr::trace {
namespace {

constexpr std::size_t kR11 = 10;
constexpr std::size_t kFlags = 31;
using State = std::array<std::uint64_t, 32>;

State with_flags(std::uint64_t flags) {
  State state;
  for (std::size_t index = 0; index < state.size(); ++index) state[index] = 0x1111 * index + 7;
  state[kFlags] = flags | 0x202;  // always set, interrupts
  return state;
}

State after_call(State state) {
  swipr_call_with_registers(state.data());
  return state;
}

TEST(TracedRegisters, AreAllKept) {
  const Traced traced(&swipr_traced_leaf);
  constexpr std::uint64_t kCarry = 1, kParity = 4, kAdjust = 16, kZero = 64, kSign = 128,
                          kOverflow = 0x800;
  std::uint64_t calls = 0;
  for (std::uint64_t bits = 0; bits < 64; ++bits) {
    std::uint64_t flags = 0;
    std::size_t bit = 0;
    for (const std::uint64_t flag : {kCarry, kParity, kAdjust, kZero, kSign, kOverflow}) {
      if ((bits >> bit++ & 1) != 0) flags |= flag;
    }
    State wanted = with_flags(flags | kCarry);
    ++wanted[kR11];
    EXPECT_EQ(after_call(with_flags(flags)), wanted) << flags;
    EXPECT_EQ(traced.calls(), ++calls);
  }
}

}  // namespace
}  // namespace swipr::trace
