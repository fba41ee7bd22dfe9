// Everything that a client sends: the HTTP request in pieces, its JSON body, its query, and the
// same bytes as a server URL.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "preload/agent/serve/request/http_request.h"
#include "preload/agent/serve/request/sample_request.h"
#include "preload/agent/serve/socket_place.h"

using namespace swipr::agent;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

using Parser = std::unique_ptr<HttpRequestParser>;

Parser parse_in_pieces(std::string_view text, std::size_t piece) {
  auto parser = std::make_unique<HttpRequestParser>();
  while (!text.empty()) {
    const std::string_view part = text.substr(0, piece);
    parser->feed(part);
    text.remove_prefix(part.size());
  }
  return parser;
}

// Splitting the bytes must not change the result.
void compare(const Parser& whole, const Parser& pieces) {
  require(whole->status() == pieces->status());
  require(whole->error().status == pieces->error().status);
  if (whole->status() != HttpRequestParser::Status::kComplete) return;
  require(whole->method() == pieces->method() && whole->path() == pieces->path());
  require(whole->query() == pieces->query() && whole->host() == pieces->host());
  require(std::ranges::equal(whole->body(), pieces->body()));
}

void read_bodies(std::span<const char> body, std::string_view query) {
  FixedText<512> error;
  SampleRequest sample;
  std::string copy(body.begin(), body.end());
  if (parse_sample_request(copy, sample, error)) {
    require(sample.recording.ticks > 0 && sample.recording.interval >= kMinInterval);
    require(sample.recording.interval <= kMaxInterval);
  } else {
    require(!error.empty() || error.overflowed());
  }
  RecordingRequest record;
  copy.assign(body.begin(), body.end());
  error.clear();
  if (parse_record_request(copy, record, error)) require(record.duration.count() >= 0);
  if (parse_profile_query(query, record, error)) {
    require(record.ticks > 0 && record.ticks <= 1'000'000 && record.interval >= kMinInterval);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Parser whole = parse_in_pieces(text, size + 1);
  const std::size_t piece = size == 0 ? 1 : 1 + data[size / 2] % 16;
  compare(whole, parse_in_pieces(text, piece));
  if (whole->status() == HttpRequestParser::Status::kComplete) {
    is_loopback_host(whole->host());
    read_bodies(whole->body(), whole->query());
  }
  read_bodies(text, text);
  ServerPlace place;
  if (parse_server_url(text, place) == nullptr) {
    require(place.kind == ServerPlace::Kind::kTcp || place.path.view().starts_with('/'));
  }
  return 0;
}
