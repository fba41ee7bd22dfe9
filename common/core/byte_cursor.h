// Reads numbers from untrusted bytes. A read past the end returns zero and makes the cursor fail
// permanently, so that a parser can check once at the end of a step.
// Context: anywhere, signal handlers included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace swipr {

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  bool failed() const noexcept { return failed_; }
  bool at_end() const noexcept { return position_ >= bytes_.size(); }
  std::size_t position() const noexcept { return position_; }
  std::size_t remaining() const noexcept { return bytes_.size() - position_; }
  std::span<const std::byte> rest() const noexcept { return bytes_.subspan(position_); }

  template <typename T>
  T fixed() noexcept {
    T value{};
    if (remaining() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }
  std::uint8_t u8() noexcept { return fixed<std::uint8_t>(); }

  // LEB128 (DWARF 5, section 7.6). Bits beyond 64 are dropped; the number of bytes is bounded.
  std::uint64_t uleb() noexcept {
    constexpr std::byte kMore{0x80};
    const bool is_one_byte = !at_end() && (bytes_[position_] & kMore) == std::byte{0};
    return is_one_byte ? std::to_integer<std::uint64_t>(bytes_[position_++]) : leb().bits;
  }
  std::int64_t sleb() noexcept {
    const Leb value = leb();
    const bool negative = value.negative && value.width < 64;
    return static_cast<std::int64_t>(value.bits |
                                     (negative ? ~std::uint64_t{0} << value.width : 0));
  }

  std::span<const std::byte> take(std::uint64_t count) noexcept {
    if (count > remaining()) {
      fail();
      return {};
    }
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }
  void skip(std::uint64_t count) noexcept { static_cast<void>(take(count)); }

  // Moves by a signed distance, as DW_OP_skip and DW_OP_bra do.
  void jump(std::int64_t distance) noexcept {
    const std::int64_t target = static_cast<std::int64_t>(position_) + distance;
    if (target < 0 || static_cast<std::uint64_t>(target) > bytes_.size()) {
      fail();
    } else {
      position_ = static_cast<std::size_t>(target);
    }
  }

  void fail() noexcept {
    failed_ = true;
    position_ = bytes_.size();
  }

 private:
  struct Leb {
    std::uint64_t bits = 0;
    unsigned width = 0;  // bits of the encoding
    bool negative = false;
  };
  Leb leb() noexcept {
    Leb value;
    for (;;) {
      const std::uint8_t byte = u8();
      if (failed_) return {};
      if (value.width < 64) value.bits |= std::uint64_t{byte & 0x7fu} << value.width;
      value.width += 7;
      value.negative = (byte & 0x40u) != 0;
      if ((byte & 0x80u) == 0) return value;
      if (value.width > 140) {  // 20 bytes: longer padding is an error
        fail();
        return {};
      }
    }
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace swipr
