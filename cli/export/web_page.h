// The page of cli/export/web as the build put it together.
#pragma once

#include <string_view>

namespace swipr::exporters {

// Where the profile's JSON belongs; stands exactly once in the page.
inline constexpr std::string_view kProfileMarker = "/*PROFILE*/";

std::string_view web_page();

}  // namespace swipr::exporters
