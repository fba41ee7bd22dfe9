#include "preload/runtimes/java/java_symbols.h"

#include <algorithm>
#include <array>

namespace swipr::runtimes {

namespace {

constexpr std::uint64_t kMaxTextBytes = 4096;

// Modified UTF-8: code points beyond 16 bits are two surrogates of three bytes each.
class SymbolDecoder {
 public:
  SymbolDecoder(Range<std::uint64_t> bytes, ObjectPieces& reader) noexcept
      : bytes_(bytes), reader_(reader) {}

  // False: the end, or unreadable.
  bool next(std::uint32_t& out) noexcept {
    if (!next_unit(out)) return false;
    const bool is_first = out >= 0xd800 && out < 0xdc00;
    const Range<std::uint64_t> after_first = bytes_;
    std::uint32_t second = 0;
    if (is_first && next_unit(second) && second >= 0xdc00 && second < 0xe000) {
      out = 0x10000 + ((out - 0xd800) << 10) + (second - 0xdc00);
    } else if (is_first) {
      bytes_ = after_first;
    }
    return true;
  }
  bool is_at_end() const noexcept { return bytes_.empty(); }
  bool is_address_next() noexcept {
    std::array<char, 2> text{};
    return bytes_.begin + text.size() < bytes_.end && reader_.read_value(bytes_.begin, text) &&
           text[0] == '0' && text[1] == 'x';
  }

 private:
  bool next_unit(std::uint32_t& out) noexcept {
    std::uint8_t first = 0;
    if (!next_byte(first)) return false;
    const unsigned more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : 2;
    out = more == 0 ? first : first & (more == 1 ? 0x1fu : 0xfu);
    for (unsigned i = 0; i < more; ++i) {
      std::uint8_t byte = 0;
      if (!next_byte(byte)) return false;
      out = out << 6 | (byte & 0x3fu);
    }
    return true;
  }
  bool next_byte(std::uint8_t& out) noexcept {
    if (bytes_.empty() || !reader_.read_value(bytes_.begin, out)) return false;
    ++bytes_.begin;
    return true;
  }

  Range<std::uint64_t> bytes_;
  ObjectPieces& reader_;
};

}  // namespace

template <std::size_t kBytes>
bool read_java_symbol(const JavaLayout& layout, ObjectPieces& reader, std::uint64_t symbol,
                      JavaText kind, BoundedText<kBytes>& out) noexcept {
  std::uint16_t length = 0;
  if (symbol == 0 || !reader.read_value(symbol + layout.symbol_bytes, length)) return false;
  const std::uint64_t begin = symbol + layout.symbol_body;
  const std::uint64_t count = std::min<std::uint64_t>(length, kMaxTextBytes);
  SymbolDecoder decoder({begin, begin + count}, reader);
  while (!decoder.is_at_end()) {
    std::uint32_t c = 0;
    if (!decoder.next(c)) return false;
    const bool is_separator = kind == JavaText::kClass && (c == '/' || c == '+');
    if (is_separator && decoder.is_address_next()) return true;
    out.append(kind == JavaText::kClass && c == '/' ? '.' : c);
  }
  if (count < length) out.cut();
  return true;
}

template bool read_java_symbol(const JavaLayout&, ObjectPieces&, std::uint64_t, JavaText,
                               BoundedText<1024>&) noexcept;
template bool read_java_symbol(const JavaLayout&, ObjectPieces&, std::uint64_t, JavaText,
                               BoundedText<4096>&) noexcept;

}  // namespace swipr::runtimes
