// Code that the handler returns to if swipr's signal made a transfer short. It transfers the rest,
// with the program's own stack and signal mask, and then returns to the code after the call with
// the total.
//
// On entry the registers are those of a call that has returned, except that buffer and count are
// those of the rest, and r11 is the number of the call. There is one variant for each pair of
// registers that hold buffer and count: read, write and similar calls (rsi, rdx), getrandom (rdi,
// rsi), sendfile (the kernel updates the offset itself; r10), copy_file_range (r8). On exit all
// registers are as the call leaves them (rcx and r11 destroyed as by `syscall`), with the sum in
// rax. An error, the end of the stream, or a short transfer that swipr did not cause ends it with
// the sum so far, as in the kernel.
#pragma once

extern "C" {
[[gnu::visibility("hidden")]] extern const char swipr_continued_transfer;
[[gnu::visibility("hidden")]] extern const char swipr_continued_fill;
[[gnu::visibility("hidden")]] extern const char swipr_continued_sendfile;
[[gnu::visibility("hidden")]] extern const char swipr_continued_copy;
// Addresses after their `syscall`, where rcx is not 0. The handler sets it to 0 if only its own
// signal interrupted them.
[[gnu::visibility("hidden")]] extern const char swipr_continued_transfer_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_fill_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_sendfile_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_copy_returned;
}
