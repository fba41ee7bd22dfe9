// What tests of traced functions must know about the machine. One file per architecture.
#pragma once

#if defined(__x86_64__)
#include "tests/unit/preload/trace/machine_x86_64.h"
#elif defined(__aarch64__)
#include "tests/unit/preload/trace/machine_aarch64.h"
#endif
