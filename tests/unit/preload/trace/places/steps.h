#pragma once

#if defined(__x86_64__)
#include "tests/unit/preload/trace/places/steps_x86_64.h"
#elif defined(__aarch64__)
#include "tests/unit/preload/trace/places/steps_aarch64.h"
#endif
