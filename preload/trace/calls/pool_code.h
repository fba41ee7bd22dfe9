// The code of thunks, which prepare_pool() writes, and what it needs of the processor. One file per
// architecture, with check_processor(), write_code() and make_code_executable(). Included by
// pool.cc only. Context: control thread.
#pragma once

#if defined(__x86_64__)
#include "preload/trace/calls/pool_code_x86_64.h"
#elif defined(__aarch64__)
#include "preload/trace/calls/pool_code_aarch64.h"
#endif
