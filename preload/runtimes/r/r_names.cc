#include "preload/runtimes/r/r_names.h"

#include <array>
#include <string_view>

#include "preload/runtimes/r/r_frames.h"
#include "preload/runtimes/utf8_text.h"

namespace swipr::runtimes {

template void walk_r(const RRuntime&, ObjectPieces&, std::uint64_t, TokenBuffer&) noexcept;

namespace {

// In the order of ROperator.
constexpr std::array<std::string_view, 5> kROperators = {"", "::", ":::", "$", "@"};
constexpr std::string_view kRAnonymousName = "<anonymous>";

}  // namespace

// Texts (CHARSXP) have their length and one more word before their characters. Those that are not
// marked are in the encoding of the locale, which is taken for UTF-8.
bool append_r_symbol(ObjectPieces& reader, std::uint64_t symbol, BoundedText<1024>& out) noexcept {
  constexpr std::uint64_t kCharacters = 16;
  constexpr std::uint64_t kMaxRName = 10'000;  // MAXIDSIZE
  constexpr std::uint32_t kIsLatin1 = 1u << (8 + 2);
  std::uint32_t symbol_info = 0;
  std::uint32_t info = 0;
  std::uint64_t name = 0;
  std::uint64_t length = 0;
  if (!reader.read_value(symbol, symbol_info) || (symbol_info & kRTypeBits) != kRSymbol ||
      !reader.read_value(symbol + kRContents, name) || !reader.read_value(name, info) ||
      (info & kRTypeBits) != kRText || !reader.read_value(name + kRContents, length) ||
      length > kMaxRName) {
    return false;
  }
  const std::uint64_t text = name + kRContents + kCharacters;
  return (info & kIsLatin1) != 0 ? append_latin1(reader, text, length, out)
                                 : append_utf8(reader, text, length, out);
}

bool read_r_function(ObjectPieces& reader, const Token& token, FunctionText& out) noexcept {
  out.name.clear();
  out.file.clear();
  out.first_line = 0;
  if (token.code == kRAnonymous) {
    out.name.append_ascii(kRAnonymousName);
    return true;
  }
  const std::uint64_t kind = token.fingerprint & kROperatorBits;
  if (kind >= kROperators.size()) return false;
  if (kind != kRNoOperator) {
    if (!append_r_symbol(reader, token.fingerprint & ~kROperatorBits, out.name)) return false;
    out.name.append_ascii(kROperators[kind]);
  }
  return append_r_symbol(reader, token.code, out.name);
}

}  // namespace swipr::runtimes
