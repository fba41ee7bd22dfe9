// Functions in assembly without a word of CFI. One file per architecture.
#pragma once

// A function that calls its argument from a frame with a frame pointer; its code can be copied.
extern "C" const char framed_call_begin[];
extern "C" const char framed_call_end[];

// A leaf without a frame, which never returns.
extern "C" int bare_leaf();

// Kernels as in libraries of linear algebra: callee-saved registers stored by hand, the frame
// pointer used for something else. The first takes a fixed piece of the stack, the second 28 KiB,
// aligned to pages, with return addresses of calls that are over inside of it. The third, as in
// libraries of large numbers, only takes a piece of the stack.
extern "C" int fixed_kernel(long rounds);
extern "C" int aligned_kernel(long rounds);
extern "C" int plain_kernel(long rounds);
