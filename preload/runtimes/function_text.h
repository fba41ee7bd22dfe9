// Name and file of a function of a language's virtual machine.
// Context: control thread. 5 KiB: one, kept by its user.  Allocates: never.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace swipr::runtimes {

// Text in UTF-8. What does not fit is cut at a character; then the text ends with "…".
template <std::size_t kBytes>
class BoundedText {
 public:
  static constexpr std::string_view kCutMark = "…";

  void clear() noexcept {
    size_ = 0;
    is_cut_ = false;
  }
  // A code point that is none (a surrogate, or beyond the last) becomes U+FFFD.
  void append(std::uint32_t code_point) noexcept {
    constexpr std::uint32_t kReplacement = 0xfffd;
    const bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
    const std::uint32_t c = is_surrogate || code_point > 0x10ffff ? kReplacement : code_point;
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    if (is_cut_) return;
    if (size_ + more + 1 > kBytes - kCutMark.size()) return cut();
    constexpr std::array<std::uint32_t, 4> kFirst = {0, 0xc0, 0xe0, 0xf0};
    put(kFirst[more] | c >> 6 * more);
    for (unsigned rest = more; rest-- > 0;) put(0x80 | (c >> 6 * rest & 0x3f));
  }
  void append_ascii(std::string_view text) noexcept {
    for (const char c : text) append(static_cast<unsigned char>(c));
  }
  void append_number(std::uint32_t number) noexcept {
    std::uint32_t unit = 1;
    while (number / unit >= 10) unit *= 10;
    for (; unit != 0; unit /= 10) append('0' + number / unit % 10);
  }
  // Of another such text. One that does not fit is left out.
  void append_valid(std::string_view text) noexcept {
    if (is_cut_) return;
    if (size_ + text.size() > kBytes - kCutMark.size()) return cut();
    size_ += text.copy(text_.data() + size_, text.size());
  }
  void cut() noexcept {
    if (is_cut_) return;
    is_cut_ = true;
    for (const char c : kCutMark) text_[size_++] = c;
  }
  std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  void put(std::uint32_t byte) noexcept { text_[size_++] = static_cast<char>(byte); }

  std::size_t size_ = 0;
  bool is_cut_ = false;
  std::array<char, kBytes> text_;
};

struct FunctionText {
  BoundedText<1024> name;  // qualified, as far as the language knows it
  BoundedText<4096> file;  // as the language has it: a path, perhaps relative, or "<string>"
  std::uint32_t first_line = 0;
};

}  // namespace swipr::runtimes
