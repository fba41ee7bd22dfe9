// The pages of cli/export/web as assembled by the build.
#pragma once

#include <string_view>

namespace swipr::exporters {

// Placeholder of the profile's JSON; occurs exactly once in each of the first two pages.
inline constexpr std::string_view kProfileMarker = "/*PROFILE*/";

std::string_view web_page();
std::string_view overview_page();
// Asks for the event stream "events" beside it (cli/commands/live/live_feed.h).
std::string_view live_page();

}  // namespace swipr::exporters
