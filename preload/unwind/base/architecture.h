// What the unwinder must know about the machine. One file per architecture.
// Context: anywhere, signal handlers included.
#pragma once

#if defined(__x86_64__)
#include "preload/unwind/base/architecture_x86_64.h"
#elif defined(__aarch64__)
#include "preload/unwind/base/architecture_aarch64.h"
#else
#error "preload/unwind: no architecture file for this machine"
#endif
