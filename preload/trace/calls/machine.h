// What differs between machines in traced calls: thunks, how a function finds its caller, and the
// clock. One file per architecture.
#pragma once

#if defined(__x86_64__)
#include "preload/trace/calls/machine_x86_64.h"
#elif defined(__aarch64__)
#include "preload/trace/calls/machine_aarch64.h"
#endif
