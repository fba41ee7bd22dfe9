// A plain rule as few bits, with the same functions for each architecture.
// Context: anywhere, signal handlers included.
#pragma once

#if defined(__x86_64__)
#include "preload/unwind/walk/loop/packed_rule_x86_64.h"
#elif defined(__aarch64__)
#include "preload/unwind/walk/loop/packed_rule_aarch64.h"
#endif
