// What places in the code of traced calls stand for. One file per architecture.
// Context: signal handler or control thread. Included by places.cc only.
#pragma once

#if defined(__x86_64__)
#include "preload/trace/machine_places_x86_64.h"
#elif defined(__aarch64__)
#include "preload/trace/machine_places_aarch64.h"
#endif
