// Parses requests of browsers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace swipr::serve {

inline constexpr std::size_t kMaxRequestBytes = 16384;

struct Request {
  std::string method;
  std::string path;  // without the query
  std::string host;  // of the Host header; empty: none, or several
  // Of the Origin header: the page whose script asks, unless it is of the same origin and reads
  // only. Empty: none; of several, all.
  std::string origin;
};

enum class RequestState : std::uint8_t { kIncomplete, kComplete, kBad };

// Parses the head of a request up to the empty line; the rest is ignored.
RequestState parse_request(std::string_view bytes, Request& request);

}  // namespace swipr::serve
