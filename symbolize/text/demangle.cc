#include "symbolize/text/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxNameBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10;

struct TextTooLong {};

// The callback forms can be stopped. The others have no output limit: a name of 235 characters,
// in which each pair<S_, S_> refers to the previous one, expands to 277 MB.
void append_text(const char* text, std::size_t bytes, void* opaque) {
  auto* output = static_cast<std::string*>(opaque);
  if (output->size() + bytes > kMaxTextBytes) throw TextTooLong();
  output->append(text, bytes);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

std::optional<std::string> run(Demangler demangler, const std::string& name) {
  std::string text;
  try {
    if (demangler(name.c_str(), DMGL_PARAMS | DMGL_TYPES, append_text, &text) != 1) return {};
  } catch (const TextTooLong&) {
    return {};
  }
  return text;
}

// D's demangler has no callback form. What can grow are back references ('Q'): 24 of them at most
// repeat the rest of the name 3^8 times, and recursion is bounded by the length.
std::optional<std::string> demangle_d(const std::string& name) {
  constexpr std::size_t kMaxDBytes = 1024;
  constexpr std::ptrdiff_t kMaxReferences = 24;
  if (name.size() > kMaxDBytes || std::count(name.begin(), name.end(), 'Q') > kMaxReferences) {
    return {};
  }
  const std::unique_ptr<char, decltype(&std::free)> text(dlang_demangle(name.c_str(), 0),
                                                         &std::free);
  if (text == nullptr) return {};
  return std::string(text.get()).substr(0, kMaxTextBytes);
}

}  // namespace

std::optional<std::string> find_readable_name(const std::string& name) {
  if (name.size() > kMaxNameBytes) return {};
  if (name.starts_with("_R")) return run(rust_demangle_callback, name);
  if (name.starts_with("_D")) return demangle_d(name);
  if (!name.starts_with("_Z")) return {};
  // Rust's legacy scheme is C++'s with a hash at the end, which Rust's demangler insists on.
  if (auto rust = run(rust_demangle_callback, name)) return rust;
  return run(cplus_demangle_v3_callback, name);
}

std::string demangle(const std::string& name) { return find_readable_name(name).value_or(name); }

}  // namespace swipr::symbolize
