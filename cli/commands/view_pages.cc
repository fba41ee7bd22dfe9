#include "cli/commands/view_pages.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "cli/export/formats/export.h"
#include "cli/serve/speedscope_files.h"
#include "common/host/unique_fd.h"
#include "common/host/unnamed_file.h"

namespace swipr::commands {

namespace {

using host::Result;

constexpr std::string_view kSpeedscopePage =
    "speedscope/index.html#profileURL=../profile.speedscope.json";

struct Link {
  std::string_view label;
  std::string_view target;
};

std::string links_between_pages(std::string_view current) {
  constexpr auto kLinks = std::to_array<Link>({{"Overview", "./"}, {"Flame graph", "flame"}});
  std::string links = "<nav id=\"links\" aria-label=\"Pages\">";
  for (const Link& link : kLinks) {
    links += fmt::format("<a href=\"{}\"{}>{}</a>", link.target,
                         link.target == current ? " aria-current=\"page\"" : "", link.label);
  }
  if (!serve::speedscope_files().empty()) {
    links += fmt::format("<a href=\"{}\">speedscope</a>", kSpeedscopePage);
  }
  return links + "</nav>";
}

using Writer = Result<void>(const profile::Recording&, const profile::Names&,
                            const exporters::Options&, exporters::Sink&);

Result<std::string> written(Writer* write, const profile::Recording& recording,
                            const profile::Names& names) {
  const host::UniqueFd file = host::make_unnamed_file("swipr-view");
  if (!file) return host::system_error("cannot create the page", errno);
  exporters::Sink sink(file.value(), "the page");
  exporters::Options options;
  // Only the person who could read the files opens the page.
  options.source_lines = write == exporters::write_html;
  if (write != exporters::write_speedscope) options.weight = profile::natural_weight(recording);
  if (auto done = write(recording, names, options, sink); !done) return done.error();
  struct stat info {};
  ::fstat(file.value(), &info);
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count =
        ::pread(file.value(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (count <= 0) return host::system_error("cannot read the page back", errno);
    size += static_cast<std::size_t>(count);
  }
  return text;
}

Result<std::string> page_with_links(Writer* write, const ViewedRecording& viewed,
                                    std::string_view path) {
  auto text = written(write, viewed.added_up, viewed.names);
  if (!text) return text;
  const std::size_t place = text->find(exporters::kPageLinks);
  if (place != std::string::npos) {
    text->replace(place, exporters::kPageLinks.size(), links_between_pages(path));
  }
  return text;
}

}  // namespace

void add_pages(serve::PageServer& server, const ViewedRecording& viewed) {
  const std::string html = "text/html; charset=utf-8";
  server.add("", html,
             [&viewed] { return page_with_links(exporters::write_overview, viewed, "./"); });
  server.add("flame", html,
             [&viewed] { return page_with_links(exporters::write_html, viewed, "flame"); });
  server.add("profile.speedscope.json", "application/json", [&viewed] {
    return written(exporters::write_speedscope, viewed.in_order, viewed.names);
  });
  for (const serve::EmbeddedFile& file : serve::speedscope_files()) {
    server.add(fmt::format("speedscope/{}", file.name), std::string(file.type),
               [&file]() -> Result<std::string> { return std::string(file.bytes()); });
  }
}

}  // namespace swipr::commands
