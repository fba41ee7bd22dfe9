// The list of recordable processes as JSON.
#pragma once

#include <string>

#include "cli/session/find/targets.h"

namespace swipr::session {

// [{"pid","command","threads","age_seconds","socket","recordings","version"}, …], one line each.
std::string format_listing_json(const Listing& listing);

}  // namespace swipr::session
