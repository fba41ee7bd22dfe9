// The locks that threads waited for, as JSON for the page.
// Errors: kept by the sink.
#pragma once

#include "cli/export/text/sink.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::exporters {

// A member "locks" of a JSON object, with a comma behind it: what was waited for, in which function
// its holder was meanwhile, how long; longest first. Then a member "deadlocks": a sentence for each
// circle of threads that wait for each other, and how long they have.
void write_page_locks(const profile::Recording& recording, const profile::Names& names, Sink& sink);

}  // namespace swipr::exporters
