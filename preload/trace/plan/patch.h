#pragma once

#if defined(__x86_64__)
#include "preload/trace/plan/patch_x86_64.h"
#elif defined(__aarch64__)
#include "preload/trace/plan/patch_aarch64.h"
#endif
