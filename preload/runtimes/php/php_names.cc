#include "preload/runtimes/php/php_names.h"

#include "preload/runtimes/php/php_frames.h"
#include "preload/runtimes/utf8_text.h"

namespace swipr::runtimes {

template void walk_php(const PhpRuntime&, ObjectPieces&, const PhpRegisters&,
                       TokenBuffer&) noexcept;

namespace {

constexpr std::uint64_t kMaxLength = 4096;

// A text whose hash has been computed from its bytes.
struct PhpText {
  std::uint64_t address = 0;  // of the first byte
  std::uint64_t length = 0;
  std::uint64_t shown = 0;      // bytes before the first NUL: names of anonymous classes have one
  std::uint64_t last_part = 0;  // offset behind the last slash
};

class PhpNameReader {
 public:
  explicit PhpNameReader(ObjectPieces& reader) noexcept : reader_(reader) {}

  bool read(const Token& token, FunctionText& out) noexcept {
    const PackedNames names = unpack_names(token);
    PhpText name;
    PhpText class_name;
    PhpText file;
    Token proven;
    reader_.forget();
    hash_ = names.first_line;
    if (!prove(names.name, name) || !prove(names.class_name, class_name) ||
        !prove(names.file, file) || !pack_names(names, hash_, proven) ||
        proven.fingerprint != token.fingerprint) {
      return false;
    }
    out.first_line = names.first_line;
    out.name.clear();
    out.file.clear();
    if (names.name == 0) {
      name = file;
      name.address += file.last_part;
      name.shown -= file.last_part;
    }
    return (names.class_name == 0 || append_class(class_name, out)) &&
           append_utf8(reader_, name.address, name.shown, out.name) &&
           append_utf8(reader_, file.address, file.shown, out.file);
  }

 private:
  bool append_class(const PhpText& text, FunctionText& out) noexcept {
    if (!append_utf8(reader_, text.address, text.shown, out.name)) return false;
    out.name.append(':');
    out.name.append(':');
    return true;
  }
  // Adds the text's hash, from its bytes.
  bool prove(std::uint64_t text, PhpText& out) noexcept {
    PhpTextHead head{};
    std::uint64_t hash = kPhpHashBegin;
    if (text == 0) {
      hash_ = mix_hash(hash_, 0);
      return true;
    }
    if (!reader_.read_value(text + kPhpTextHead, head) || head.length > kMaxLength) return false;
    out = {.address = text + kPhpTextBytes, .length = head.length, .shown = head.length};
    for (std::uint64_t at = 0; at < out.length; ++at) {
      std::uint8_t byte = 0;
      if (!reader_.read_value(out.address + at, byte)) return false;
      hash = add_php_hash(hash, byte);
      if (byte == '/' && at + 1 < out.length) out.last_part = at + 1;
      if (byte == 0 && out.shown == out.length) out.shown = at;
    }
    if (out.last_part > out.shown) out.last_part = 0;
    hash_ = mix_hash(hash_, end_php_hash(hash));
    return true;
  }

  ObjectPieces& reader_;
  std::uint64_t hash_ = 0;
};

}  // namespace

bool read_php_function(ObjectPieces& reader, const Token& token, FunctionText& out) noexcept {
  return PhpNameReader(reader).read(token, out);
}

}  // namespace swipr::runtimes
