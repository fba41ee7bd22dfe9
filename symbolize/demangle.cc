#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "symbolize/symbolizer.h"

// abi::__cxa_demangle is not used: a name of 235 characters in which each pair<S_, S_> names the
// one before makes it build 277 MB of text. This is the same demangler in its callback form, which
// can be stopped; it allocates on the stack only. The shared libstdc++ does not export it,
// libsupc++.a does.
extern "C" int __gcclibcxx_demangle_callback(const char* mangled,
                                             void (*callback)(const char*, size_t, void*),
                                             void* opaque);

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxNameBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10;
constexpr std::size_t kRustHashBytes = 17;  // 'h' and 16 hex digits

struct TextTooLong {};

void append_text(const char* text, std::size_t bytes, void* opaque) {
  auto* output = static_cast<std::string*>(opaque);
  if (output->size() + bytes > kMaxTextBytes) throw TextTooLong();
  output->append(text, bytes);
}

bool is_rust_hash(std::string_view part) {
  return part.size() == kRustHashBytes && part.front() == 'h' &&
         part.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

struct Escape {
  std::string_view code, text;
};
constexpr Escape kRustEscapes[] = {
    {"$SP$", "@"},  {"$BP$", "*"},  {"$RF$", "&"},  {"$LT$", "<"},  {"$GT$", ">"},
    {"$LP$", "("},  {"$RP$", ")"},  {"$C$", ","},   {"$u20$", " "}, {"$u22$", "\""},
    {"$u27$", "'"}, {"$u2b$", "+"}, {"$u3b$", ";"}, {"$u5b$", "["}, {"$u5d$", "]"},
    {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u7e$", "~"}, {"..", "::"},
};

// rustc's legacy scheme is C++'s with escapes for what an identifier cannot hold.
std::string unescape_rust(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const bool at_start = text.empty() || text.ends_with("::");
    if (at_start && path.starts_with("_$")) path.remove_prefix(1);
    const auto* escape =
        std::find_if(std::begin(kRustEscapes), std::end(kRustEscapes),
                     [&](const Escape& candidate) { return path.starts_with(candidate.code); });
    if (escape != std::end(kRustEscapes)) {
      text += escape->text;
      path.remove_prefix(escape->code.size());
    } else {
      text += path.front();
      path.remove_prefix(1);
    }
  }
  return text;
}

}  // namespace

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kMaxNameBytes) return name;
  std::string text;
  try {
    if (__gcclibcxx_demangle_callback(name.c_str(), append_text, &text) != 0) return name;
  } catch (const TextTooLong&) {
    return name;
  }
  const std::size_t last = text.rfind("::");
  if (last != std::string::npos && is_rust_hash(std::string_view(text).substr(last + 2))) {
    return unescape_rust(std::string_view(text).substr(0, last));
  }
  return text;
}

}  // namespace swipr::symbolize
