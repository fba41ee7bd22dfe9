#include "cli/serve/http_request.h"

#include "common/core/ascii_text.h"

namespace swipr::serve {

namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Removes and returns the next line of `rest`.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find(kLineEnd);
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kLineEnd.size());
  return line;
}

bool parse_request_line(std::string_view line, Request& request) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == line.npos ? line.npos : line.find(' ', first + 1);
  if (second == line.npos) return false;
  const std::string_view target = line.substr(first + 1, second - first - 1);
  if (!target.starts_with('/') || !line.substr(second + 1).starts_with("HTTP/1.")) return false;
  request.method = line.substr(0, first);
  request.path = target.substr(0, target.find('?'));
  return true;
}

}  // namespace

RequestState parse_request(std::string_view bytes, Request& request) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == bytes.npos) {
    return bytes.size() < kMaxRequestBytes ? RequestState::kIncomplete : RequestState::kBad;
  }
  if (end > kMaxRequestBytes) return RequestState::kBad;
  std::string_view rest = bytes.substr(0, end);
  request = {};
  if (!parse_request_line(take_line(rest), request)) return RequestState::kBad;
  int hosts = 0;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return RequestState::kBad;
    const std::string_view name = line.substr(0, colon);
    if (equal_ignoring_case(name, "origin")) request.origin += trimmed(line.substr(colon + 1));
    if (!equal_ignoring_case(name, "host")) continue;
    request.host = trimmed(line.substr(colon + 1));
    ++hosts;
  }
  if (hosts != 1) request.host.clear();
  return RequestState::kComplete;
}

}  // namespace swipr::serve
