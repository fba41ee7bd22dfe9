// What the agent reads of stores, of its spool and of its own processes: URLs, answers, requests in
// files, reports. And pprof bytes that become OpenTelemetry's.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/push/pusher.h"
#include "cli/push/requests/messages.h"
#include "cli/push/requests/otlp.h"
#include "cli/push/requests/request.h"

using namespace swipr;

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

void check_url(std::string_view text) {
  const auto url = push::parse_store_url(text);
  if (!url) return;
  expect(push::is_store_url(text) && url->port != 0 && !url->host.empty());
  // No byte of it can end a header or the line of a request.
  expect((url->origin() + url->path).find_first_of("\r\n ") == std::string::npos);
  const auto proxy = push::choose_proxy(*url, {std::string(text), "", "", std::string(text)});
  if (proxy && !proxy->host.empty()) expect(proxy->port != 0);
}

void check_answer(std::string_view text) {
  const auto answer = push::parse_answer(text);
  if (!answer) return;
  const auto delay = push::delay_before(3, answer->retry_after, 0.5);
  expect(delay.count() >= 0 && delay <= std::chrono::minutes(1));
  const auto again = push::parse_answer(push::format_answer(*answer));
  expect(again && again->status == answer->status && again->retry_after == answer->retry_after);
}

void check_event(std::string_view text) {
  const auto event = push::parse_push_event(text);
  if (!event) return;
  const std::string line = push::format_push_event(*event);
  expect(line.find('\n') == line.size() - 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_url(text);
  check_answer(text);
  check_event(text);
  const auto request = push::parse_request(text);
  if (request) expect(request->body_bytes <= push::kMostBodyBytes);
  static_cast<void>(push::parse_place(text));
  static_cast<void>(push::otlp_profile(text, {}, "0123456789abcdef"));
  return 0;
}
