#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/push/pusher.h"
#include "common/host/text/clean_text.h"

namespace swipr::push {

namespace {
constexpr std::array<std::string_view, 5> kEventNames = {"stored", "refused", "unknown", "old",
                                                         "later"};
constexpr std::size_t kMaxEventText = 300;
}  // namespace

std::string format_push_event(const PushEvent& event) {
  return fmt::format("{} {} {}\n", kEventNames[static_cast<std::size_t>(event.kind)], event.bytes,
                     host::clean_text(std::string_view(event.text).substr(0, kMaxEventText)));
}

host::Result<PushEvent> parse_push_event(std::string_view line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const auto* const name = std::find(kEventNames.begin(), kEventNames.end(), line.substr(0, blank));
  PushEvent event;
  const char* const end = line.data() + line.size();
  const char* const number = line.data() + std::min(blank + 1, line.size());
  const auto [rest, error] = std::from_chars(number, end, event.bytes);
  if (name == kEventNames.end() || error != std::errc()) {
    return host::Error("not a line of a pusher's report");
  }
  event.kind = static_cast<PushEvent::Kind>(name - kEventNames.begin());
  if (rest != end) event.text.assign(rest + 1, end);
  return event;
}

}  // namespace swipr::push
