#include "preload/agent/serve/request/http_request.h"

#include <algorithm>
#include <cstring>

#include "preload/agent/base/text/text_view.h"

namespace swipr::agent {

namespace {

using namespace std::string_view_literals;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) noexcept {
  const auto is_token_char = [](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           (c != '\0' && "!#$%&'*+-.^_`|~"sv.find(c) != std::string_view::npos);
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool has_control_characters(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
  });
}

std::string_view trim(std::string_view text) noexcept {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Removes one line and its end, LF or CRLF, from the front.
std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = text.find('\n');
  std::string_view line = leading(text, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Digits only; false also if the value exceeds `limit`, with `too_large` set.
bool parse_number(std::string_view text, unsigned base, std::size_t limit, std::size_t& out,
                  bool& too_large) noexcept {
  out = 0;
  too_large = false;
  if (text.empty()) return false;
  for (char c : text) {
    const char l = lower(c);
    const unsigned digit = l >= '0' && l <= '9'   ? static_cast<unsigned>(l - '0')
                           : l >= 'a' && l <= 'f' ? static_cast<unsigned>(l - 'a' + 10)
                                                  : 99;
    if (digit >= base) {
      too_large = false;
      return false;
    }
    if (!too_large) out = out * base + digit;
    if (out > limit) too_large = true;
  }
  return !too_large;
}

}  // namespace

void HttpRequestParser::fail(int status, const char* text) noexcept {
  status_ = Status::kFailed;
  part_ = Part::kDone;
  error_ = {status, text};
}

HttpRequestParser::Status HttpRequestParser::feed(std::span<const char> bytes) noexcept {
  while (part_ != Part::kDone && !bytes.empty()) {
    std::size_t taken = 0;
    switch (part_) {
      case Part::kHead:
        taken = take_head(bytes);
        break;
      case Part::kBody:
      case Part::kChunkData:
        taken = take_data(bytes);
        break;
      default:
        taken = take_chunk_line(bytes);
        break;
    }
    bytes = bytes.subspan(taken);
  }
  return status_;
}

// Copies up to the empty line that ends the head.
std::size_t HttpRequestParser::take_head(std::span<const char> bytes) noexcept {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (head_size_ == kMaxHeadBytes) {
      fail(431, "the request header is longer than 16 KiB");
      return i;
    }
    if (head_size_ == 0 && (bytes[i] == '\r' || bytes[i] == '\n')) continue;  // RFC 9112, 2.2
    head_[head_size_++] = bytes[i];
    const std::string_view head(head_, head_size_);
    if (bytes[i] == '\n' && (head.ends_with("\n\r\n") || head.ends_with("\n\n"))) {
      parse_head();
      return i + 1;
    }
  }
  return bytes.size();
}

void HttpRequestParser::parse_head() noexcept {
  std::string_view rest(head_, head_size_);
  if (!parse_request_line(take_line(rest))) return;
  for (std::string_view line = take_line(rest); !line.empty(); line = take_line(rest)) {
    if (!parse_header(line)) return;
  }
  begin_body();
}

bool HttpRequestParser::parse_request_line(std::string_view line) noexcept {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first || has_control_characters(line)) {
    fail(400, "not an HTTP request line");
    return false;
  }
  method_ = leading(line, first);
  const std::string_view version = skip(line, last + 1);
  if (!is_token(method_) || !version.starts_with("HTTP/")) {
    fail(400, "not an HTTP request line");
    return false;
  }
  http_1_0_ = version == "HTTP/1.0"sv;
  if (version != "HTTP/1.1"sv && !http_1_0_) {
    fail(505, "only HTTP/1.1 and HTTP/1.0 are supported");
    return false;
  }
  return parse_target(skip(leading(line, last), first + 1));
}

bool HttpRequestParser::parse_target(std::string_view target) noexcept {
  if (target.starts_with("http://")) {  // as sent to a proxy: RFC 9112, 3.2.2
    target.remove_prefix("http://"sv.size());
    const std::size_t slash = target.find('/');
    target = slash == std::string_view::npos ? "/"sv : skip(target, slash);
  }
  if (!target.starts_with('/') || target.find(' ') != std::string_view::npos) {
    fail(400, "the request target is not a path");
    return false;
  }
  const std::size_t question = target.find('?');
  path_ = leading(target, question);
  if (question != std::string_view::npos) query_ = skip(target, question + 1);
  return true;
}

bool HttpRequestParser::parse_header(std::string_view line) noexcept {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(leading(line, colon)) ||
      has_control_characters(line)) {
    fail(400, "a header line is malformed");
    return false;
  }
  const std::string_view name = leading(line, colon);
  const std::string_view value = trim(skip(line, colon + 1));
  if (equals_ignoring_case(name, "content-length")) return parse_content_length(value);
  if (equals_ignoring_case(name, "transfer-encoding")) return parse_transfer_encoding(value);
  if (equals_ignoring_case(name, "expect")) {
    expects_continue_ = equals_ignoring_case(value, "100-continue");
  }
  if (equals_ignoring_case(name, "host")) {
    return take_once(value, host_, "there are two Host headers");
  }
  if (equals_ignoring_case(name, "origin")) {
    return take_once(value, origin_, "there are two Origin headers");
  }
  if (equals_ignoring_case(name, "authorization")) {
    return take_once(value, authorization_, "there are two Authorization headers");
  }
  return true;
}

std::string_view HttpRequestParser::bearer_token() const noexcept {
  constexpr std::string_view kScheme = "bearer ";
  if (!equals_ignoring_case(leading(authorization_, kScheme.size()), kScheme)) return {};
  return trim(skip(authorization_, kScheme.size()));
}

bool is_same_secret(std::string_view given, std::string_view secret) noexcept {
  if (given.size() != secret.size() || secret.empty()) return false;
  // Volatile: otherwise a compiler could stop at the first difference.
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (given[i] ^ secret[i]));
  }
  return difference == 0;
}

bool HttpRequestParser::take_once(std::string_view value, std::string_view& out,
                                  const char* twice) noexcept {
  if (out.data() != nullptr) {
    fail(400, twice);
    return false;
  }
  out = value;
  return true;
}

bool HttpRequestParser::parse_content_length(std::string_view value) noexcept {
  std::size_t length = 0;
  bool too_large = false;
  if (!parse_number(value, 10, kMaxBodyBytes, length, too_large)) {
    if (too_large) {
      fail(413, "the request body is longer than 64 KiB");
    } else {
      fail(400, "Content-Length is not a number");
    }
    return false;
  }
  if (has_length_ && length != data_left_) {
    fail(400, "there are two different Content-Length headers");
    return false;
  }
  has_length_ = true;
  data_left_ = length;
  return true;
}

bool HttpRequestParser::parse_transfer_encoding(std::string_view value) noexcept {
  if (chunked_ || !equals_ignoring_case(value, "chunked")) {
    fail(501, "the only supported Transfer-Encoding is chunked");
    return false;
  }
  chunked_ = true;
  return true;
}

void HttpRequestParser::begin_body() noexcept {
  if (chunked_ && has_length_) {  // permits request smuggling: RFC 9112, 6.1
    fail(400, "Content-Length and Transfer-Encoding cannot be combined");
  } else if (chunked_) {
    part_ = Part::kChunkSize;
  } else if (data_left_ > 0) {
    part_ = Part::kBody;
  } else {
    part_ = Part::kDone;
    status_ = Status::kComplete;
  }
}

std::size_t HttpRequestParser::take_data(std::span<const char> bytes) noexcept {
  const std::size_t count = std::min(bytes.size(), data_left_);
  std::memcpy(body_ + body_size_, bytes.data(), count);  // data_left_ was checked to fit
  body_size_ += count;
  data_left_ -= count;
  if (data_left_ > 0) return count;
  if (part_ == Part::kBody) {
    part_ = Part::kDone;
    status_ = Status::kComplete;
  } else {
    part_ = Part::kChunkEnd;
  }
  return count;
}

std::size_t HttpRequestParser::take_chunk_line(std::span<const char> bytes) noexcept {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n') {
      std::string_view line(line_, line_size_);
      line_size_ = 0;
      if (line.ends_with('\r')) line.remove_suffix(1);
      on_chunk_line(line);
      return i + 1;
    }
    if (part_ == Part::kTrailer && ++trailer_bytes_ > kMaxHeadBytes) {
      fail(431, "the request trailers are longer than 16 KiB");
      return i;
    }
    if (line_size_ < sizeof line_) {
      line_[line_size_++] = bytes[i];
    } else if (part_ != Part::kTrailer) {  // only whether a trailer is empty matters
      fail(400, "a line of the chunked body is too long");
      return i;
    }
  }
  return bytes.size();
}

void HttpRequestParser::on_chunk_line(std::string_view line) noexcept {
  if (part_ == Part::kTrailer) {
    if (!line.empty()) return;
    part_ = Part::kDone;
    status_ = Status::kComplete;
    return;
  }
  if (part_ == Part::kChunkEnd) {
    if (!line.empty()) return fail(400, "a chunk is longer than its stated size");
    part_ = Part::kChunkSize;
    return;
  }
  bool too_large = false;
  const std::string_view digits = trim(leading(line, line.find(';')));
  if (!parse_number(digits, 16, kMaxBodyBytes - body_size_, data_left_, too_large)) {
    if (too_large) return fail(413, "the request body is longer than 64 KiB");
    return fail(400, "a chunk size is not a number");
  }
  part_ = data_left_ == 0 ? Part::kTrailer : Part::kChunkData;
}

bool find_query_value(std::string_view query, std::string_view name,
                      std::string_view& value) noexcept {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view item = leading(query, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    const std::size_t equals = item.find('=');
    if (leading(item, equals) != name) continue;
    value = equals == std::string_view::npos ? ""sv : skip(item, equals + 1);
    return true;
  }
  return false;
}

}  // namespace swipr::agent
