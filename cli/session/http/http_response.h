// Parses one HTTP/1.1 response from pieces of any size. The server is untrusted: each line, the
// header and the chunk lengths are bounded.
// Source: RFC 9112, sections 4 to 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/host/result.h"

namespace swipr::session {

inline constexpr std::size_t kMaxHeaderBytes = 16384;

class ResponseReader {
 public:
  // Receives the decoded body; an error ends the reading. status() is valid.
  using BodySink = std::function<host::Result<void>(std::span<const std::byte>)>;

  explicit ResponseReader(BodySink sink) : sink_(std::move(sink)) {}

  // Errors: not HTTP/1.x; header too long; invalid chunk framing; bytes after the end; errors
  // of the sink.
  host::Result<void> feed(std::span<const std::byte> bytes);
  // Call when the peer closes.  Errors: the response is incomplete.
  host::Result<void> finish();

  bool has_header() const { return state_ != State::kStatusLine && state_ != State::kHeader; }
  bool complete() const { return state_ == State::kComplete; }
  int status() const { return status_; }

 private:
  enum class State : std::uint8_t {
    kStatusLine,
    kHeader,
    kBody,
    kBodyUntilClose,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kTrailer,
    kComplete
  };

  host::Result<void> take_line(std::span<const std::byte>& bytes);
  host::Result<void> on_line(std::string_view line);
  host::Result<void> on_status_line(std::string_view line);
  host::Result<void> on_header_line(std::string_view line);
  host::Result<void> on_header_end();
  host::Result<void> on_chunk_size(std::string_view line);
  host::Result<void> take_body(std::span<const std::byte>& bytes);

  BodySink sink_;
  State state_ = State::kStatusLine;
  std::string line_;
  std::size_t header_bytes_ = 0;
  std::uint64_t body_rest_ = 0;  // of the body or chunk
  int status_ = 0;
  bool chunked_ = false;
  bool has_length_ = false;
};

}  // namespace swipr::session
