// Frames that say that a language runtime collects garbage. Pure.
#pragma once

#include "cli/profile/recording/recording.h"

namespace swipr::profile {

// Removes those of threads that only ran meanwhile. Python says that garbage is collected, not by
// which thread: while a finalizer waits, others run. The thread that collects is found in calls
// that threads make hardly ever otherwise; one in whose stack no such call is does not collect.
void drop_doubtful_collectors(Recording& recording);

}  // namespace swipr::profile
