// A self-contained page: markup, styles, scripts (cli/export/web) and the profile.
#include <string_view>

#include "cli/export/formats/export.h"
#include "cli/export/page/page_data.h"
#include "cli/export/page/web_page.h"

namespace swipr::exporters {

namespace {

host::Result<void> write_page(std::string_view page, const profile::Recording& recording,
                              const profile::Names& names, const Options& options, Sink& sink) {
  const std::size_t marker = page.find(kProfileMarker);
  sink.write(page.substr(0, marker));
  write_page_data(recording, names, options, sink);
  sink.write(page.substr(marker + kProfileMarker.size()));
  return sink.flush();
}

}  // namespace

host::Result<void> write_html(const profile::Recording& recording, const profile::Names& names,
                              const Options& options, Sink& sink) {
  return write_page(web_page(), recording, names, options, sink);
}

host::Result<void> write_overview(const profile::Recording& recording, const profile::Names& names,
                                  const Options& options, Sink& sink) {
  return write_page(overview_page(), recording, names, options, sink);
}

}  // namespace swipr::exporters
