// Requests that store a profile, one builder per engine. Pure: labels and bytes → request.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/push/requests/store_url.h"

namespace swipr::push {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string path;  // with the prefix of the URL and the query
  Labels headers;
  std::string body;
};

struct Credentials {
  std::string token;   // empty: none, or the password of the URL
  std::string tenant;  // X-Scope-OrgID; empty: none
};

// Authorization and tenant; for the studio the key of its API.
Labels headers_of(const StoreUrl& url, const Credentials& credentials);

// Limits of Pyroscope: what is longer is cut, what is too much is left out. Names that are not
// made of letters, digits and underscores get underscores. Later labels replace earlier ones.
// `__name__` and service_name come first.
Labels store_labels(std::string_view metric, std::string_view service, const Labels& more);

// `profile`: a gzipped pprof file. `id`: 32 hexadecimal digits.
// Source: pyroscope/api/push/v1/push.proto, as JSON.
Request pyroscope_request(const StoreUrl& url, const Labels& labels, std::string_view profile,
                          std::string_view id);

// Source: parca/profilestore/v1alpha1/profilestore.proto, as JSON.
Request parca_request(const StoreUrl& url, const Labels& labels, std::string_view profile);

struct StudioProfile {
  std::string_view col;  // text
  std::string service, hostname;
  std::string start_time, end_time;  // ISO, UTC
  std::string gpid;                  // empty first, then what the studio answered
};
// The body is gzipped by the caller, who adds content-encoding.
Request studio_request(const StoreUrl& url, const StudioProfile& profile);

// RFC 4648.
std::string base64(std::string_view bytes);

// What an answer means for the request.
enum class Outcome : std::uint8_t {
  kStored,
  kRefused,  // repeating it would be refused again
  kLater,    // the store was not reachable or had no time: to be repeated
  kUnknown,  // broken off after it was sent: repeating it could count it twice
};
struct Answer {
  int status = 0;                        // 0: none
  bool was_sent = false;                 // as far as the client knows
  bool is_partial = false;               // a success that leaves out some of the request
  bool is_lasting = false;               // a failure until somebody changes a setting
  std::chrono::seconds retry_after{-1};  // negative: not said
  std::string text;                      // of the body, or of the failure
};
Outcome outcome_of(const Answer& answer);

// 1, 2, 4 … 60 s, ± 20 % by `random` (0 … 1), or what the store asked for, 0.1 s to a minute.
std::chrono::milliseconds delay_before(unsigned repetition, std::chrono::seconds retry_after,
                                       double random);

}  // namespace swipr::push
