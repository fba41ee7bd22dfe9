// The pages of cli/export/web as the build put them together.
#pragma once

#include <string_view>

namespace swipr::exporters {

// Where the profile's JSON belongs; stands exactly once in each page.
inline constexpr std::string_view kProfileMarker = "/*PROFILE*/";

std::string_view web_page();
std::string_view overview_page();

}  // namespace swipr::exporters
