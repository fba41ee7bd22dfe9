// Code that the handler returns to if swipr's signal made a transfer short. It transfers the rest,
// with the program's own stack and signal mask, and then returns to the code after the call with
// the total.
//
// On entry the registers are those of a call that has returned, except that buffer and count are
// those of the rest, x16 is the address to return to, and x17 the first argument. There is one
// variant for each pair of registers that hold buffer and count: read, write and similar calls (x1,
// x2), getrandom (x17, x1), sendfile (x3), copy_file_range (x4). On exit all registers are as the
// call leaves them, with the sum in x0, except x16, x17 and the flags, which the code after the
// call does not use. An error, the end of the stream, or a short transfer that swipr did not cause
// ends it with the sum so far, as in the kernel.
#pragma once

extern "C" {
[[gnu::visibility("hidden")]] extern const char swipr_continued_transfer;
[[gnu::visibility("hidden")]] extern const char swipr_continued_fill;
[[gnu::visibility("hidden")]] extern const char swipr_continued_sendfile;
[[gnu::visibility("hidden")]] extern const char swipr_continued_copy;
// Addresses after their `svc`, where x17 is 1. The handler sets it to 0 if only its own signal
// interrupted them, and to 2 if a handler of the program has run.
[[gnu::visibility("hidden")]] extern const char swipr_continued_transfer_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_fill_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_sendfile_returned;
[[gnu::visibility("hidden")]] extern const char swipr_continued_copy_returned;
}
