// Text of bounded length, always NUL-terminated. Text that does not fit is omitted and reported.
// Context: anywhere.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace swipr::agent {

class TextWriter {
 public:
  // `out` holds at least the NUL.
  explicit TextWriter(std::span<char> out) noexcept : out_(out) { clear(); }
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  void clear() noexcept {
    size_ = 0;
    overflowed_ = false;
    out_[0] = '\0';
  }
  // All or nothing.
  TextWriter& append(std::string_view text) noexcept;
  TextWriter& append(char character) noexcept { return append(std::string_view(&character, 1)); }
  TextWriter& append_number(std::uint64_t value) noexcept;
  // Filled with zeros on the left up to `digits`.
  TextWriter& append_padded(std::uint64_t value, unsigned digits) noexcept;
  TextWriter& append_hex(std::uint64_t value, unsigned min_digits = 1) noexcept;
  // In quotes, escaped for JSON; bytes that are not UTF-8 become U+FFFD.
  TextWriter& append_json_string(std::string_view text) noexcept;
  void resize(std::size_t size) noexcept;  // at most size()

  std::string_view view() const noexcept { return {out_.data(), size_}; }
  const char* c_str() const noexcept { return out_.data(); }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  bool overflowed() const noexcept { return overflowed_; }
  // For system calls that write to the free part; `grow` adds the number of bytes that they wrote.
  std::span<char> free_space() noexcept { return out_.subspan(size_, out_.size() - size_ - 1); }
  void grow(std::size_t bytes) noexcept;

 private:
  std::span<char> out_;
  std::size_t size_ = 0;
  bool overflowed_ = false;
};

namespace internal {
template <std::size_t kBytes>
struct TextStorage {
  char storage_[kBytes];
};
}  // namespace internal

template <std::size_t kBytes>
class FixedText : private internal::TextStorage<kBytes>, public TextWriter {
 public:
  FixedText() noexcept : TextWriter(std::span<char>(this->storage_)) {}
  explicit FixedText(std::string_view text) noexcept : FixedText() { append(text); }
};

using PathText = FixedText<4096>;  // PATH_MAX

}  // namespace swipr::agent
