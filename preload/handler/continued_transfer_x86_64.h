// Code that the handler returns into when swipr's signal cut a transfer short: it transfers the
// rest as part of the very same call, with the program's own stack and signal mask, and then goes
// on behind the call as if nothing had been.
//
// Enters with the registers of a call that has returned, but buffer and count are those of the
// rest, and r11 is the call's number. One for each pair of registers that these are in: read, write
// and their kin (rsi, rdx), getrandom (rdi, rsi), sendfile (the kernel keeps the place itself;
// r10), copy_file_range (r8). Leaves with all registers as the call leaves them (rcx and r11
// destroyed as by `syscall`) and the sum in rax. An error, the end of the stream, or a short
// transfer that is not swipr's doing ends it with what there is, as in the kernel.
#pragma once

extern "C" {
[[gnu::visibility("hidden")]] extern const char swipr_continued_transfer;
[[gnu::visibility("hidden")]] extern const char swipr_continued_fill;
[[gnu::visibility("hidden")]] extern const char swipr_continued_sendfile;
[[gnu::visibility("hidden")]] extern const char swipr_continued_copy;
// Behind their `syscall`. The handler sets rcx to 0 there when its signal was all that happened.
[[gnu::visibility("hidden")]] extern const char swipr_continued_transfer_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_fill_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_sendfile_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_copy_returned;
}
