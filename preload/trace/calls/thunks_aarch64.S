/* The code that a traced call passes through.

   function → stub → common entry → hook → thunk i → copy of the beginning → rest of the function
   → return to thunk i → common exit → hook → caller

   One thunk stands for one active call. It calls the copy, and that return address, in x30, takes
   the place of the caller's, so that calls and returns stay paired for the processor. Everything
   that an unwinder needs is found from x30 alone, which has an address in the thunk at each of its
   instructions, and in whatever it calls: where x30 is saved, unwinders know its place.

   Registers: all are kept, and the flags with them, x16 and x17 included, which code in assembly
   may use for itself. The stub stores these two below the stack pointer; the instruction before the
   copy loads them. Vector registers are not touched by the hooks.
   Source: AAPCS64, 6.1; AADWARF64, 4.1 (30: x30, 31: sp); DWARF 5, 2.5. */

#include "preload/trace/calls/pool_size.h"

#define SAVED 160	/* SavedRegisters in machine_aarch64.h */
#define BACK_FROM_DATA 36	/* from the stub's data to the instruction before the copy */

/* Filled by prepare_pool() (pool.cc). Pages of zeros: a program that is not traced has none of them
   in memory. Of the kernel's largest pages, because they become executable. */
	.section .bss.swipr_trace,"aw",@nobits
	.p2align 16
	.globl	swipr_trace_thunks
	.hidden	swipr_trace_thunks
	.type	swipr_trace_thunks,@function
swipr_trace_thunks:
	.cfi_startproc
	.cfi_personality 0x1b, swipr_trace_personality
	/* The column of the return address holds it minus one: without the mark, libgcc, which knows
	   frames by their CFA, takes thunk and caller for one. */
	.cfi_signal_frame
	/* CFA: sp, and 16 more before the call, where x30 is the thunk's address: sp + (((x30 & 15) < 4) << 4). */
	.cfi_escape 0x0f,11, 0x8f,0x00, 0x8e,0x00, 0x3f, 0x1a, 0x34, 0x2d, 0x34, 0x24, 0x22
	/* x30 saved at: p = x30 & 0xfffffffff000; p + *(u32*)p + (x30 & 0xff0). The mask removes a signature. p twice:
	   valgrind knows neither dup nor deref_size. */
	.macro	saved_by_link
	.cfi_escape 0x10,30,39, 0x8e,0x00, 0x0e,0x00,0xf0,0xff,0xff,0xff,0xff,0x00,0x00, 0x1a, 0x8e,0x00, 0x0e,0x00,0xf0,0xff,0xff,0xff,0xff,0x00,0x00, 0x1a, 0x06, 0x0c,0xff,0xff,0xff,0xff, 0x1a, 0x22, 0x8e,0x00, 0x0a,0xf0,0x0f, 0x1a, 0x22
	.endm
	saved_by_link
	.skip	4096 * SWIPR_TRACE_PAGES
	.cfi_endproc
	.size	swipr_trace_thunks, .-swipr_trace_thunks

/* Behind the thunks: their distance, in each page's header, has no sign for an unwinder. */
	.p2align 16
	.globl	swipr_trace_returns
	.hidden	swipr_trace_returns
	.type	swipr_trace_returns,@object
swipr_trace_returns:
	.skip	4096 * SWIPR_TRACE_PAGES
	.size	swipr_trace_returns, .-swipr_trace_returns

	.macro	save_others
	stp	x2, x3, [sp, #16]
	stp	x4, x5, [sp, #32]
	stp	x6, x7, [sp, #48]
	stp	x8, x9, [sp, #64]
	stp	x10, x11, [sp, #80]
	stp	x12, x13, [sp, #96]
	stp	x14, x15, [sp, #112]
	mrs	x0, nzcv
	stp	x18, x0, [sp, #128]
	.endm
	.macro	restore_all bytes
	ldp	x18, x0, [sp, #128]
	msr	nzcv, x0
	ldp	x14, x15, [sp, #112]
	ldp	x12, x13, [sp, #96]
	ldp	x10, x11, [sp, #80]
	ldp	x8, x9, [sp, #64]
	ldp	x6, x7, [sp, #48]
	ldp	x4, x5, [sp, #32]
	ldp	x2, x3, [sp, #16]
	ldp	x0, x1, [sp], #\bytes
	.endm

	.text
	.p2align 4
	.globl	swipr_trace_common_exit
	.hidden	swipr_trace_common_exit
	.type	swipr_trace_common_exit,@function
swipr_trace_common_exit:			/* x30: where the thunk was returned to */
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 31, 0
	saved_by_link
	stp	x0, x1, [sp, #-176]!
	.cfi_def_cfa_offset 176
	save_others
	stp	x16, x17, [sp, #144]
	str	x30, [sp, #160]
	/* The same, with *(sp + 160) for x30. */
	.cfi_escape 0x10,30,45, 0x8f,0xa0,0x01,0x06, 0x0e,0x00,0xf0,0xff,0xff,0xff,0xff,0x00,0x00, 0x1a, 0x8f,0xa0,0x01,0x06, 0x0e,0x00,0xf0,0xff,0xff,0xff,0xff,0x00,0x00, 0x1a, 0x06, 0x0c,0xff,0xff,0xff,0xff, 0x1a, 0x22, 0x8f,0xa0,0x01,0x06, 0x0a,0xf0,0x0f, 0x1a, 0x22
	adrp	x0, swipr_trace_thunks
	add	x0, x0, #:lo12:swipr_trace_thunks
	sub	x0, x30, x0
	lsr	x0, x0, #4			/* the call's number */
	ldr	x1, [sp]			/* the result */
	bl	swipr_trace_exit
	str	x0, [sp, #160]
	.cfi_offset 30, -16
	ldr	x30, [sp, #160]
	ldp	x16, x17, [sp, #144]
	restore_all 176
	.cfi_def_cfa_offset 0
	.cfi_same_value 30
	ret
	.cfi_endproc
	.size	swipr_trace_common_exit, .-swipr_trace_common_exit

	.p2align 4
	.globl	swipr_trace_common_entry
	.hidden	swipr_trace_common_entry
	.type	swipr_trace_common_entry,@function
swipr_trace_common_entry:			/* x17: the stub's data; above sp: x16, x17; x30: return address */
	.cfi_startproc
	.cfi_def_cfa 31, 16
	stp	x0, x1, [sp, #-SAVED]!
	.cfi_def_cfa_offset SAVED + 16
	save_others
	stp	x17, x30, [sp, #144]
	.cfi_offset 30, -24
	ldr	w0, [x17, #8]			/* number of the probe */
	add	x1, sp, #SAVED + 16
	mov	x2, x29				/* the caller's, as the function's beginning has not run */
	mov	x3, sp
	bl	swipr_trace_enter
	ldr	x16, [sp, #144]
	add	x16, x16, #BACK_FROM_DATA
	mov	x17, x0				/* where to go on */
	mov	x30, x1
	sub	x0, x0, x1
	.cfi_remember_state
	cbz	x0, 1f
	restore_all SAVED
	.cfi_def_cfa_offset 16
	.cfi_same_value 30
	br	x17				/* x16 */
1:	.cfi_restore_state
	restore_all SAVED
	.cfi_def_cfa_offset 16
	saved_by_link
	br	x17				/* the thunk, which calls x16 */
	.cfi_endproc
	.size	swipr_trace_common_entry, .-swipr_trace_common_entry
	.section .note.GNU-stack,"",@progbits
