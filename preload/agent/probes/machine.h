// What tracing asks of the kernel, and why it is refused. One file per architecture.
// Context: control thread.
#pragma once

#if defined(__x86_64__)
#include "preload/agent/probes/machine_x86_64.h"
#elif defined(__aarch64__)
#include "preload/agent/probes/machine_aarch64.h"
#endif
