#include "cli/session/http/http_response.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "common/core/ascii_text.h"

namespace swipr::session {

namespace {

using host::Error;
using host::Result;

// A chunk longer than this is not a .swipr stream: a block has at most 1 MiB of payload.
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{64} << 20;

template <typename Number>
bool parse_whole(std::string_view text, Number& value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<void> ResponseReader::feed(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (state_ == State::kComplete) return Error("unexpected bytes after the end of the answer");
    const bool in_body =
        state_ == State::kBody || state_ == State::kBodyUntilClose || state_ == State::kChunk;
    if (auto done = in_body ? take_body(bytes) : take_line(bytes); !done) return done;
  }
  return {};
}

Result<void> ResponseReader::finish() {
  if (state_ == State::kBodyUntilClose) state_ = State::kComplete;
  if (state_ == State::kComplete) return {};
  return Error(has_header() ? "the connection was closed in the middle of the answer"
                            : "the connection was closed without an answer");
}

Result<void> ResponseReader::take_line(std::span<const std::byte>& bytes) {
  const auto end = std::find(bytes.begin(), bytes.end(), std::byte{'\n'});
  const auto count = static_cast<std::size_t>(end - bytes.begin());
  const bool ended = end != bytes.end();
  header_bytes_ += count + (ended ? 1 : 0);
  if (header_bytes_ > kMaxHeaderBytes) return Error("the header of the answer is too long");
  line_.append(reinterpret_cast<const char*>(bytes.data()), count);
  bytes = bytes.subspan(count + (ended ? 1 : 0));
  if (!ended) return {};
  if (line_.ends_with('\r')) line_.pop_back();
  const std::string line = std::exchange(line_, {});
  return on_line(line);
}

Result<void> ResponseReader::on_line(std::string_view line) {
  switch (state_) {
    case State::kStatusLine:
      return on_status_line(line);
    case State::kHeader:
      return line.empty() ? on_header_end() : on_header_line(line);
    case State::kChunkSize:
      return on_chunk_size(line);
    case State::kChunkEnd:
      if (!line.empty()) return Error("a chunk of the answer is longer than its stated size");
      state_ = State::kChunkSize;
      header_bytes_ = 0;  // the limit applies to each chunk's line
      return {};
    case State::kTrailer:
      if (line.empty()) state_ = State::kComplete;
      return {};
    case State::kBody:
    case State::kBodyUntilClose:
    case State::kChunk:
    case State::kComplete:
      break;
  }
  return Error("unexpected line in the answer");
}

Result<void> ResponseReader::on_status_line(std::string_view line) {
  // "HTTP/1.1 200 OK"
  constexpr std::size_t kStatusAt = 9;
  const bool is_http =
      line.starts_with("HTTP/1.") && line.size() >= kStatusAt + 3 && line[8] == ' ';
  if (!is_http || !parse_whole(line.substr(kStatusAt, 3), status_) || status_ < 100) {
    return Error("the answer is not HTTP");
  }
  state_ = State::kHeader;
  return {};
}

Result<void> ResponseReader::on_header_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return Error("a header line of the answer has no colon");
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (equal_ignoring_case(name, "transfer-encoding")) {
    if (!equal_ignoring_case(value, "chunked"))
      return Error(fmt::format("unknown transfer encoding '{}'", value));
    chunked_ = true;
  } else if (equal_ignoring_case(name, "content-length")) {
    if (has_length_ || !parse_whole(value, body_rest_)) {
      return Error("the content-length of the answer is not a number");
    }
    has_length_ = true;
  }
  return {};
}

Result<void> ResponseReader::on_header_end() {
  header_bytes_ = 0;
  if (status_ < 200) {  // an interim answer; the real one follows
    state_ = State::kStatusLine;
  } else if (chunked_) {  // takes precedence over a length, RFC 9112 6.3
    state_ = State::kChunkSize;
  } else if (has_length_) {
    state_ = body_rest_ == 0 ? State::kComplete : State::kBody;
  } else {
    state_ = State::kBodyUntilClose;
  }
  return {};
}

Result<void> ResponseReader::on_chunk_size(std::string_view line) {
  const std::string_view digits = trimmed(line.substr(0, line.find(';')));
  if (!parse_whole(digits, body_rest_, 16) || body_rest_ > kMaxChunkBytes) {
    return Error("the answer has an invalid chunk size");
  }
  state_ = body_rest_ == 0 ? State::kTrailer : State::kChunk;
  return {};
}

Result<void> ResponseReader::take_body(std::span<const std::byte>& bytes) {
  auto part = bytes;
  if (state_ != State::kBodyUntilClose) {
    part = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), body_rest_)));
    body_rest_ -= part.size();
    if (body_rest_ == 0) state_ = state_ == State::kChunk ? State::kChunkEnd : State::kComplete;
  }
  bytes = bytes.subspan(part.size());
  return sink_(part);
}

}  // namespace swipr::session
