// What `swipr view` shows: a recording as pages that lead to each other.
#pragma once

#include "cli/options/options.h"
#include "cli/profile/names.h"
#include "cli/profile/recording.h"
#include "cli/serve/page_server.h"

namespace swipr::commands {

// A recording as it was, for pictures in order of time, and for adding up (profile::credit_cpu).
struct ViewedRecording {
  profile::Recording in_order;
  profile::Recording added_up;
  profile::Names names;
};

// Lifetime: `viewed` outlives the server. Pages are made when they are first asked for.
void add_pages(serve::PageServer& server, const ViewedRecording& viewed);

}  // namespace swipr::commands
