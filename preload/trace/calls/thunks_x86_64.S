/* The code that a traced call passes through.

   function → stub → entry k (push $k; jmp common entry) → hook → thunk i → copy of the beginning
   → rest of the function → return to thunk i → common exit → hook → caller

   One thunk stands for one active call. It calls the copy, and that return address takes the place
   of the caller's, so that calls and returns stay paired for the processor's return-stack buffer.
   Everything that an unwinder needs is found from the pc alone (call frame information below), and
   never from the stack, which tail calls reuse.

   Registers: all are kept, and the flags with them: functions of one file, and those in assembly,
   may know of each other what they leave alone. Vector registers are not touched by the hooks.
   Source: System V AMD64 ABI; LSB 5.0 Core, 10.5 (call frame instructions); DWARF 5, 2.5. */

#include "preload/trace/calls/pool_size.h"

/* Filled by prepare_pool() (pool.cc). Pages of zeros: a program that is not traced has none of them
   in memory. */
	.section .bss.swipr_trace,"aw",@nobits
	.p2align 12
	.globl	swipr_trace_entries
	.hidden	swipr_trace_entries
	.type	swipr_trace_entries,@function
swipr_trace_entries:
	.cfi_startproc
	/* CFA: rsp + 8, and 8 more behind the push: 8 + (((rip & 15) >= 5) << 3). */
	.cfi_escape 0x0f,11, 0x77,0x08, 0x80,0x00, 0x3f, 0x1a, 0x35, 0x2a, 0x33, 0x24, 0x22
	.cfi_offset 16,-8
	.skip	SWIPR_TRACE_ENTRY_BYTES
	.cfi_endproc
	.size	swipr_trace_entries, .-swipr_trace_entries

	.globl	swipr_trace_thunks
	.hidden	swipr_trace_thunks
	.type	swipr_trace_thunks,@function
swipr_trace_thunks:
	.cfi_startproc
	.cfi_personality 0x1b, swipr_trace_personality
	/* The column of the return address holds it minus one: without the mark, libgcc, which knows
	   frames by their CFA, takes thunk and caller for one. */
	.cfi_signal_frame
	/* CFA: rsp, and 8 more behind the push: rsp + (((rip & 15) >= 11) << 3). */
	.cfi_escape 0x0f,11, 0x77,0x00, 0x80,0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	/* Saved at: p = rip & -4096; p + *(u32*)p + (rip & 0xff0). p twice: valgrind knows neither dup nor deref_size. */
	.cfi_escape 0x10,16,27, 0x80,0x00, 0x0b,0x00,0xf0, 0x1a, 0x80,0x00, 0x0b,0x00,0xf0, 0x1a, 0x06, 0x0c,0xff,0xff,0xff,0xff, 0x1a, 0x22, 0x80,0x00, 0x0a,0xf0,0x0f, 0x1a, 0x22
	.skip	4096 * SWIPR_TRACE_PAGES
	.cfi_endproc
	.size	swipr_trace_thunks, .-swipr_trace_thunks

/* Behind the thunks: their distance, in each page's header, has no sign for an unwinder. */
	.globl	swipr_trace_returns
	.hidden	swipr_trace_returns
	.type	swipr_trace_returns,@object
swipr_trace_returns:
	.skip	4096 * SWIPR_TRACE_PAGES
	.size	swipr_trace_returns, .-swipr_trace_returns

	.macro	save register
	push	\register
	.cfi_adjust_cfa_offset 8
	.endm
	.macro	restore register
	pop	\register
	.cfi_adjust_cfa_offset -8
	.endm
/* 10 words; the six of arguments are the last ones, in the ABI's order (keep_details). The flags: AH has five of them, AL the overflow flag. */
	.macro	save_all
	save	%rax
	lahf
	seto	%al
	save	%rax
	.irp	register, %r11, %r10, %r9, %r8, %rcx, %rdx, %rsi, %rdi
	save	\register
	.endr
	.endm
	.macro	restore_all
	.irp	register, %rdi, %rsi, %rdx, %rcx, %r8, %r9, %r10, %r11, %rax
	restore	\register
	.endr
	addb	$127, %al
	sahf
	restore	%rax
	.endm

	.text
	.p2align 8
exit_header:					/* as that of a page of thunks */
	.long	swipr_trace_returns - .
	.fill	12,1,0xcc
	.globl	swipr_trace_common_exit
	.hidden	swipr_trace_common_exit
	.type	swipr_trace_common_exit,@function
swipr_trace_common_exit:			/* (rsp): number of the call; CFA = rsp + 8 */
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 7, 8
	/* Saved at: h = rip & -256; h + *(u32*)h + (*(cfa - 8) << 4). */
	.cfi_escape 0x10,16,26, 0x38,0x1c,0x06,0x34,0x24, 0x80,0x00, 0x0b,0x00,0xff, 0x1a, 0x80,0x00, 0x0b,0x00,0xff, 0x1a, 0x06, 0x0c,0xff,0xff,0xff,0xff, 0x1a, 0x22, 0x22
	save_all
	movl	80(%rsp), %edi
	movq	72(%rsp), %rsi			/* the result: %rax */
	call	swipr_trace_exit
	movq	%rax, 80(%rsp)
	.cfi_offset 16,-8
	restore_all
	ret
	.cfi_endproc
	.size	swipr_trace_common_exit, .-swipr_trace_common_exit
	.if	. - exit_header > 256
	.error	"the header is found by rounding down"
	.endif

	.p2align 4
	.globl	swipr_trace_common_entry
	.hidden	swipr_trace_common_entry
	.type	swipr_trace_common_entry,@function
swipr_trace_common_entry:			/* (rsp): number of the probe; 8(rsp): return address */
	.cfi_startproc
	.cfi_def_cfa 7, 16
	save_all
	movl	80(%rsp), %edi
	leaq	88(%rsp), %rsi
	movq	%rbp, %rdx			/* the caller's, as the function's beginning has not run */
	movq	%rbx, %rcx
	call	swipr_trace_enter
	movq	%rax, 80(%rsp)			/* where to go on */
	testq	%rdx, %rdx
	.cfi_remember_state
	jz	1f
	restore_all
	leaq	16(%rsp), %rsp			/* thunk i pushes its return address */
	.cfi_adjust_cfa_offset -16
	jmp	*-16(%rsp)			/* the red zone keeps it */
1:	.cfi_restore_state
	restore_all
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*-8(%rsp)
	.cfi_endproc
	.size	swipr_trace_common_entry, .-swipr_trace_common_entry
	.section .note.GNU-stack,"",@progbits
