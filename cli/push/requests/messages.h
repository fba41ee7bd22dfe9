// What swipr and swipr-send tell each other through pipes: lines of JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/push/requests/request.h"

namespace swipr::push {

struct SendPlace {
  std::string origin;
  Proxy proxy;
  std::string ca_file;
};
std::string format_place(const SendPlace& place);
host::Result<SendPlace> parse_place(std::string_view line);

inline constexpr std::size_t kMostBodyBytes = std::size_t{64} << 20;

struct AnnouncedRequest {
  Request request;  // without its body
  std::size_t body_bytes = 0;
};
std::string format_request(const Request& request);  // without its body
host::Result<AnnouncedRequest> parse_request(std::string_view line);

std::string format_answer(const Answer& answer);
host::Result<Answer> parse_answer(std::string_view line);

}  // namespace swipr::push
