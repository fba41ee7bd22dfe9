// System calls without libc: for code that shares its thread pointer with another thread, whose
// errno libc's wrappers would write, and for calls that other preloaded libraries replace.
#pragma once

#if defined(__x86_64__)
#include "preload/machine/raw_syscall_x86_64.h"
#elif defined(__aarch64__)
#include "preload/machine/raw_syscall_aarch64.h"
#endif
