// Sizes that C++ and assembly share.
#pragma once

#define SWIPR_TRACE_PAGES 64          // of thunks, 255 in each: calls that are active at a time
#define SWIPR_TRACE_ENTRY_BYTES 4096  // 16 for each probe
