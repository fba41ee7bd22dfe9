// The code beside a function's copy, where its jump leads. One file per architecture.
// Context: control thread.
#pragma once

#if defined(__x86_64__)
#include "preload/trace/stub_x86_64.h"
#elif defined(__aarch64__)
#include "preload/trace/stub_aarch64.h"
#endif
