// Reads one flat JSON object, field by field, from the request body of an untrusted peer.
// Context: control thread.  Allocates: never; strings are decoded in place.
// Source: RFC 8259; \u escapes become UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace swipr::agent {

struct JsonField {
  enum class Kind : std::uint8_t { kString, kNumber, kBool, kNull, kComposite };
  std::string_view name;
  Kind kind = Kind::kNull;
  std::string_view text;  // kString: decoded; kNumber: as written; kBool: true or false
};

class JsonObjectReader {
 public:
  explicit JsonObjectReader(std::span<char> text) noexcept : text_(text) {}

  // False: no more fields, or the text is not a JSON object (then failed()). Nested values are
  // checked loosely and skipped, up to a depth of 32.
  bool next(JsonField& out) noexcept;
  bool failed() const noexcept { return state_ == State::kFailed; }

 private:
  enum class State : std::uint8_t { kStart, kFields, kEnd, kFailed };

  bool fail() noexcept;
  void skip_blanks() noexcept;
  bool take(char expected) noexcept;
  bool at_end() const noexcept { return at_ == text_.size(); }
  bool finish() noexcept;
  bool read_string(std::string_view& out) noexcept;
  bool read_escape(std::size_t& write) noexcept;
  bool read_hex4(std::uint32_t& out) noexcept;
  bool read_value(JsonField& out) noexcept;
  bool read_word(JsonField& out) noexcept;
  bool skip_composite() noexcept;

  std::span<char> text_;
  std::size_t at_ = 0;
  State state_ = State::kStart;
};

}  // namespace swipr::agent
