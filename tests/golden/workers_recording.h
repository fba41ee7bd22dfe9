// A second recording made by hand, of two seconds: a pool of threads that have one name, one mutex
// that they wait for, hot lines, and ticks that are not as far apart as a page's slices.
#pragma once

#include "tests/golden/golden_recording.h"

namespace swipr::golden {

Golden make_workers();
// The same, and then two of the pool wait for each other for a second.
Golden make_deadlock();
// A thread that waits, with a short burst in each tick, of which every fourth is sampled and has
// the CPU time of all.
Golden make_bursts();
// It and another one behind it which was recorded for half the time and did the same.
Golden make_workers_comparison();

}  // namespace swipr::golden
