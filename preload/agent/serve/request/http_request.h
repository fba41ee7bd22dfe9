// Parser of one HTTP/1.x request that arrives in pieces from an untrusted peer.
// Context: control thread.  Allocates: never.
// Source: RFC 9112; obsolete line folding and both length headers at once are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace swipr::agent {

inline constexpr std::size_t kMaxHeadBytes = 16384;
inline constexpr std::size_t kMaxBodyBytes = 65536;

// Why a request is refused: the answer's status code and a one-line message.
struct HttpError {
  int status = 0;
  const char* text = nullptr;
};

class HttpRequestParser {
 public:
  enum class Status : std::uint8_t { kNeedMore, kComplete, kFailed };

  // Bytes after the request's end are ignored, as is everything once it is complete or failed.
  Status feed(std::span<const char> bytes) noexcept;

  Status status() const noexcept { return status_; }
  HttpError error() const noexcept { return error_; }
  // The head is complete and the client waits for "100 Continue" before it sends the body.
  bool expects_continue() const noexcept { return expects_continue_ && part_ != Part::kHead; }

  // Valid once complete, as long as the parser lives.
  std::string_view method() const noexcept { return method_; }
  std::string_view path() const noexcept { return path_; }    // without the query, not decoded
  std::string_view query() const noexcept { return query_; }  // without the question mark
  std::string_view host() const noexcept { return host_; }
  // Origin of a web page's script ("https://example.org", "null"); empty: no such header.
  std::string_view origin() const noexcept { return origin_; }
  // From "Authorization: Bearer TOKEN"; empty: another scheme, or no header.
  std::string_view bearer_token() const noexcept;
  bool is_http_1_0() const noexcept { return http_1_0_; }  // knows no chunked answers
  // Mutable: JSON strings are decoded in place.
  std::span<char> body() noexcept { return {body_, body_size_}; }

 private:
  enum class Part : std::uint8_t {
    kHead,
    kBody,
    kChunkSize,
    kChunkData,
    kChunkEnd,
    kTrailer,
    kDone
  };

  void fail(int status, const char* text) noexcept;
  std::size_t take_head(std::span<const char> bytes) noexcept;
  std::size_t take_data(std::span<const char> bytes) noexcept;
  std::size_t take_chunk_line(std::span<const char> bytes) noexcept;
  void on_chunk_line(std::string_view line) noexcept;
  void parse_head() noexcept;
  bool parse_request_line(std::string_view line) noexcept;
  bool parse_target(std::string_view target) noexcept;
  bool parse_header(std::string_view line) noexcept;
  bool take_once(std::string_view value, std::string_view& out, const char* twice) noexcept;
  bool parse_content_length(std::string_view value) noexcept;
  bool parse_transfer_encoding(std::string_view value) noexcept;
  void begin_body() noexcept;

  Status status_ = Status::kNeedMore;
  Part part_ = Part::kHead;
  HttpError error_;
  bool has_length_ = false;
  bool chunked_ = false;
  bool expects_continue_ = false;
  bool http_1_0_ = false;
  std::size_t head_size_ = 0;
  std::size_t body_size_ = 0;
  std::size_t data_left_ = 0;  // of the body or of the current chunk
  std::size_t line_size_ = 0;  // of the chunk line or trailer under way
  std::size_t trailer_bytes_ = 0;
  std::string_view method_;
  std::string_view path_;
  std::string_view query_;
  std::string_view host_;           // no data: not given
  std::string_view origin_;         // likewise
  std::string_view authorization_;  // likewise
  char line_[256];                  // chunk-size line; longer ones have unsupported extensions
  char head_[kMaxHeadBytes];
  char body_[kMaxBodyBytes];
};

// Constant time: the duration does not depend on the position of the first difference, only on the
// length.
bool is_same_secret(std::string_view given, std::string_view secret) noexcept;

// The value of `name` in a query string ("a=1&b=2"), not decoded. False: not present.
bool find_query_value(std::string_view query, std::string_view name,
                      std::string_view& value) noexcept;

}  // namespace swipr::agent
