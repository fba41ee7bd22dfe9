#include "preload/runtimes/v8/v8_scope.h"

#include "preload/runtimes/v8/v8_frames.h"
#include "preload/runtimes/v8/v8_text.h"

namespace swipr::runtimes {
namespace {

// Bits of the flags, in all versions that are known.
constexpr std::uint32_t kScopeTypeMask = 0xf;
constexpr std::uint32_t kSavedClass = 1 << 10;
constexpr std::uint32_t kFunctionNameMask = 3 << 12;
constexpr std::uint32_t kInferredName = 1 << 14;

constexpr std::uint32_t kMaxInlinedLocals = 75;  // the names of more are in a table
constexpr std::uint32_t kMaxLocals = 1 << 16;
constexpr std::int32_t kPositionsFirst = 5;  // scope_first, if the positions precede it

class V8ScopeReader {
 public:
  V8ScopeReader(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t scope) noexcept
      : v8_(v8), reader_(reader), scope_(scope) {}

  bool read(V8Scope& out) noexcept {
    const std::int32_t first = v8_.layout.scope_first;
    std::uint32_t flags = 0;
    std::uint32_t locals = 0;
    if (first < 0 || !read_flags(flags) || !read_count(v8_.layout.scope_locals, locals) ||
        locals > kMaxLocals) {
      return false;
    }
    out.type = flags & kScopeTypeMask;
    const bool is_counted =
        v8_.traits.is_module_counted_first && out.type == v8_.traits.module_scope;
    const bool is_inlined = locals < kMaxInlinedLocals;
    std::uint32_t at = static_cast<std::uint32_t>(first) + (is_counted ? 1 : 0) +
                       (is_inlined ? 2 * locals : 1 + locals) +
                       ((flags & kSavedClass) != 0 ? 1 : 0);
    if ((flags & kFunctionNameMask) != 0) {
      std::uint32_t place = 0;
      if (!read_name(at, out.name) || !read_number(at + 1, place)) return false;
      at += 2;
    }
    if ((flags & kInferredName) != 0 && !read_name(at++, out.inferred)) return false;
    return read_count(first == kPositionsFirst ? first - 2 : static_cast<std::int32_t>(at),
                      out.begin);
  }

 private:
  bool read_slot(std::uint32_t index, std::uint64_t& out) noexcept {
    constexpr std::uint64_t kMap = 8;
    return reader_.read_value(scope_ + kMap + index * sizeof out, out);
  }
  // A small integer, or 32 bits that are followed by padding.
  bool read_flags(std::uint32_t& out) noexcept {
    std::uint64_t word = 0;
    if (!read_slot(0, word)) return false;
    out = static_cast<std::uint32_t>(is_v8_integer(word) ? word >> 32 : word);
    return true;
  }
  bool read_number(std::uint32_t index, std::uint32_t& out) noexcept {
    std::uint64_t word = 0;
    if (!read_slot(index, word) || !is_v8_integer(word)) return false;
    out = static_cast<std::uint32_t>(v8_integer(word));
    return true;
  }
  bool read_count(std::int32_t index, std::uint32_t& out) noexcept {
    return index >= 0 && read_number(static_cast<std::uint32_t>(index), out) && out <= INT32_MAX;
  }
  // A string; zero or `undefined`: none.
  bool read_name(std::uint32_t index, std::uint64_t& out) noexcept {
    std::int32_t type = 0;
    if (!read_slot(index, out)) return false;
    if (out == 0) return true;
    if (!read_v8_type(v8_.layout, reader_, out, type)) return false;
    if (type == v8_.layout.oddball_type) out = 0;
    return out == 0 || type < v8_.layout.first_other_type;
  }

  const V8Runtime& v8_;
  ObjectPieces& reader_;
  std::uint64_t scope_;
};

}  // namespace

bool read_v8_scope(const V8Runtime& v8, ObjectPieces& reader, std::uint64_t scope,
                   V8Scope& out) noexcept {
  out = {};
  return V8ScopeReader(v8, reader, scope).read(out);
}

}  // namespace swipr::runtimes
