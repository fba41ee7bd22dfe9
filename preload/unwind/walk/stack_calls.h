// Finds the traced calls that a stack is in, after the walk.
// Context: signal handler, of the own stack, or control thread.  Allocates: never.
#pragma once

#if defined(__x86_64__)
#include "preload/unwind/walk/stack_calls_x86_64.h"
#elif defined(__aarch64__)
#include "preload/unwind/walk/stack_calls_aarch64.h"
#endif
