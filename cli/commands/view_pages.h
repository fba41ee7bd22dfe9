// The linked pages of `swipr view`.
#pragma once

#include "cli/options/options.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "cli/serve/page_server.h"

namespace swipr::commands {

// A recording for timelines, and the same with CPU time credited (profile::credit_cpu) for
// aggregation.
struct ViewedRecording {
  profile::Recording in_order;
  profile::Recording added_up;
  profile::Names names;
};

// Pages are created on the first request.  Lifetime: `viewed` outlives the server.
void add_pages(serve::PageServer& server, const ViewedRecording& viewed);

}  // namespace swipr::commands
