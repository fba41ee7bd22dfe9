// Whether code shows, by what it does next, that it returns by the register in which calls leave
// the return address, and with the present stack pointer. Context: anywhere where code may be read,
// signal handlers included.
#pragma once

#if defined(__x86_64__)
#include "preload/unwind/walk/leaf_end_x86_64.h"
#elif defined(__aarch64__)
#include "preload/unwind/walk/leaf_end_aarch64.h"
#endif
