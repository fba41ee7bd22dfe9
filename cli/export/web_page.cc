#include "cli/export/web_page.h"

#include <cstddef>

// Made by swipr_embed (cmake/embed.cmake).
extern "C" const char swipr_web_page_begin[];
extern "C" const char swipr_web_page_end[];
extern "C" const char swipr_overview_page_begin[];
extern "C" const char swipr_overview_page_end[];

namespace swipr::exporters {

std::string_view web_page() {
  return {swipr_web_page_begin,
          static_cast<std::size_t>(swipr_web_page_end - swipr_web_page_begin)};
}

std::string_view overview_page() {
  return {swipr_overview_page_begin,
          static_cast<std::size_t>(swipr_overview_page_end - swipr_overview_page_begin)};
}

}  // namespace swipr::exporters
