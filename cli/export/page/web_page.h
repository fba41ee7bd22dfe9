// The pages of cli/export/web as assembled by the build.
#pragma once

#include <string_view>

namespace swipr::exporters {

// Placeholder of the profile's JSON; occurs exactly once in each page.
inline constexpr std::string_view kProfileMarker = "/*PROFILE*/";

std::string_view web_page();
std::string_view overview_page();

}  // namespace swipr::exporters
