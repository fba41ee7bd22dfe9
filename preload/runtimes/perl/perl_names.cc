#include "preload/runtimes/perl/perl_names.h"

#include <string_view>

#include "preload/runtimes/perl/perl_frames.h"
#include "preload/runtimes/utf8_text.h"

namespace swipr::runtimes {

template void walk_perl(const PerlRuntime&, ObjectPieces&, std::uint64_t, TokenBuffer&) noexcept;

namespace {

constexpr std::string_view kSortBlockName = "sort block";
constexpr std::string_view kRegexBlockName = "regex code";
constexpr std::string_view kEvaluationName = "(eval)";
constexpr std::uint64_t kMaxPerlFile = 4096;

// Names that are no UTF-8 are Latin-1.
bool append_perl_name(ObjectPieces& reader, std::uint64_t name, BoundedText<1024>& out) noexcept {
  constexpr std::uint8_t kIsUtf8 = 1;
  PerlNameHead head{};
  std::uint8_t flags = 0;
  if (name == 0 || !reader.read_value(name, head) || head.bytes < 0 || head.bytes > kMaxPerlName) {
    return false;
  }
  const std::uint64_t text = name + kPerlNameText;
  const auto bytes = static_cast<std::uint64_t>(head.bytes);
  if (!reader.read_value(text + bytes + 1, flags)) return false;
  return (flags & kIsUtf8) != 0 ? append_utf8(reader, text, bytes, out)
                                : append_latin1(reader, text, bytes, out);
}

// A text that ends with NUL.
struct PerlFile {
  std::uint64_t bytes = 0;
  std::uint64_t last_part = 0;  // offset behind the last slash
};
bool measure_perl_file(ObjectPieces& reader, std::uint64_t text, PerlFile& out) noexcept {
  std::uint8_t byte = 1;
  for (out = {}; out.bytes < kMaxPerlFile; ++out.bytes) {
    if (!reader.read_value(text + out.bytes, byte)) return false;
    if (byte == 0) break;
    if (byte == '/') out.last_part = out.bytes + 1;
  }
  if (out.last_part == out.bytes) out.last_part = 0;
  return true;
}

bool append_perl_function(const PerlLayout& layout, ObjectPieces& reader, const PackedNames& names,
                          FunctionText& out) noexcept {
  if (names.class_name != 0) {
    if (!append_perl_package(layout, reader, names.class_name, out.name)) return false;
    out.name.append_ascii("::");
  }
  return append_perl_name(reader, names.name, out.name);
}

}  // namespace

bool append_perl_package(const PerlLayout& layout, ObjectPieces& reader, std::uint64_t package,
                         BoundedText<1024>& out) noexcept {
  constexpr std::uint32_t kHasMore = 0x0200'0000;  // SVf_OOK, SVphv_HasAUX
  constexpr std::uint64_t kLargest = 24;           // xhv_max
  constexpr std::uint64_t kBodyBytes = 32;
  constexpr std::uint64_t kNameCount = 28;  // xhv_name_count, from xhv_name_u on
  PerlObject hash{};
  std::uint64_t largest = 0;
  std::uint64_t name = 0;
  std::int32_t count = 0;
  if (package % 8 != 0 || !reader.read_value(package, hash) || hash.type() != kPerlHash ||
      (hash.flags & kHasMore) == 0 || !reader.read_value(hash.body + kLargest, largest)) {
    return false;
  }
  const std::uint64_t more =
      layout.has_name_in_body ? hash.body + kBodyBytes : hash.head + (largest + 1) * sizeof name;
  // Of several names the first counts.
  return reader.read_value(more, name) && reader.read_value(more + kNameCount, count) &&
         (count == 0 || reader.read_value(name, name)) && append_perl_name(reader, name, out);
}

bool read_perl_function(const PerlLayout& layout, ObjectPieces& reader, const Token& token,
                        FunctionText& out) noexcept {
  const PackedNames names = unpack_names(token);
  const bool is_evaluation = names.file == kPerlEvaluation;
  const std::uint64_t path = perl_file_text(layout, names.file);
  PerlFile file;
  std::uint64_t hash = 0;
  Token proven;
  reader.forget();
  if (!hash_perl_names(reader, names, hash) || !pack_names(names, hash, proven) ||
      proven.fingerprint != token.fingerprint ||
      (!is_evaluation && !measure_perl_file(reader, path, file))) {
    return false;
  }
  out.first_line = names.first_line;
  out.name.clear();
  out.file.clear();
  if (is_evaluation) {
    out.file.append_ascii(kEvaluationName);
  } else if (!append_utf8(reader, path, file.bytes, out.file)) {
    return false;
  }
  if (names.name == kPerlSortBlock || names.name == kPerlRegexBlock) {
    out.name.append_ascii(names.name == kPerlSortBlock ? kSortBlockName : kRegexBlockName);
    return true;
  }
  if (names.name != 0) return append_perl_function(layout, reader, names, out);
  if (is_evaluation) {
    out.name.append_ascii(kEvaluationName);
    return true;
  }
  return append_utf8(reader, path + file.last_part, file.bytes - file.last_part, out.name);
}

}  // namespace swipr::runtimes
