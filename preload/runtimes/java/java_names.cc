#include "preload/runtimes/java/java_names.h"

#include <algorithm>
#include <array>

#include "preload/runtimes/java/java_frames.h"
#include "preload/runtimes/java/java_lines.h"
#include "preload/runtimes/java/java_symbols.h"
#include "preload/runtimes/java/java_thread_walk.h"

namespace swipr::runtimes {

template class JavaStepper<ObjectPieces>;
template JavaWalkEnd walk_java_thread(const JavaRuntime&, ObjectPieces&, std::uint64_t,
                                      TokenBuffer&) noexcept;

namespace {

// The text at an index of a constant pool.
bool read_pool_entry(const JavaLayout& layout, ObjectPieces& reader, std::uint64_t pool,
                     std::uint16_t index, std::uint64_t& out) noexcept {
  return reader.read_value(pool + layout.pool_bytes + index * sizeof out, out);
}

bool read_name(const JavaLayout& layout, ObjectPieces& reader, const JavaMethod& method,
               FunctionText& out) noexcept {
  std::uint64_t holder = 0;
  std::uint64_t class_name = 0;
  std::uint64_t name = 0;
  std::uint16_t index = 0;
  out.name.clear();
  if (!reader.read_value(method.pool + layout.pool_holder, holder) ||
      !reader.read_value(holder + layout.class_name, class_name) ||
      !reader.read_value(method.description + layout.const_name, index) ||
      !read_pool_entry(layout, reader, method.pool, index, name) ||
      !read_java_symbol(layout, reader, class_name, JavaText::kClass, out.name)) {
    return false;
  }
  out.name.append('.');
  return read_java_symbol(layout, reader, name, JavaText::kPlain, out.name);
}

bool read_file(const JavaLayout& layout, ObjectPieces& reader, const JavaMethod& method,
               FunctionText& out) noexcept {
  std::uint64_t holder = method.pool;
  std::uint32_t offset = layout.pool_file;
  std::uint16_t index = 0;
  std::uint64_t name = 0;
  out.file.clear();
  if (offset == kNoJavaField) {
    offset = layout.class_file;
    if (!reader.read_value(method.pool + layout.pool_holder, holder)) return false;
  }
  if (!reader.read_value(holder + offset, index)) return false;
  return index == 0 || (read_pool_entry(layout, reader, method.pool, index, name) &&
                        read_java_symbol(layout, reader, name, JavaText::kPlain, out.file));
}

// 0: it has no lines.
std::uint32_t line_at(const JavaRuntime& java, ObjectPieces& reader, const JavaMethod& method,
                      std::uint32_t position) noexcept {
  constexpr std::uint16_t kHasLines = 1;
  std::uint16_t flags = 0;
  std::uint32_t words = 0;
  if (!reader.read_value(method.description + java.layout.const_flags, flags) ||
      !reader.read_value(method.description + java.layout.const_words, words) ||
      (flags & kHasLines) == 0 || position == kNoPosition) {
    return 0;
  }
  const std::uint64_t end = method.description + std::uint64_t{words} * 8;
  return find_java_line(java.version, position, {method.bytecode.end, end}, reader.image_reader());
}

// Reads the method anew.
bool is_same_method(const JavaRuntime& java, ObjectPieces& reader, const Token& token,
                    JavaMethod& out) noexcept {
  reader.forget();
  return token.kind == TokenKind::kJava && read_java_method(java, reader, token.code, out) &&
         out.fingerprint == token.fingerprint;
}

bool is_same_java_code(const JavaRuntime& java, ObjectPieces& reader, const Token& token) noexcept {
  std::uint64_t fingerprint = 0;
  reader.forget();
  return token.kind == TokenKind::kJavaCompiled &&
         read_java_code_fingerprint(java, reader, token.code, fingerprint) &&
         fingerprint == token.fingerprint;
}

// The debug information of compiled code: for each place that may be asked about, a chain of
// scopes, the innermost inlined method first.
class JavaScopeReader {
 public:
  JavaScopeReader(const JavaRuntime& java, ObjectPieces& reader, std::uint64_t blob) noexcept
      : java_(java), layout_(java.layout), reader_(reader), blob_(blob) {}

  bool open() noexcept {
    base_ = blob_;
    if (layout_.nmethod_immutable_data != kNoJavaField &&
        !reader_.read_value(blob_ + layout_.nmethod_immutable_data, base_)) {
      return false;
    }
    return open_scopes() && open_methods() && open_places();
  }

  // The first scope at the first place at or after the position; 0: none.
  std::uint32_t find(std::uint32_t position) noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = places_count_;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      std::int32_t offset = 0;
      if (!reader_.read_value(places_ + middle * kPlaceBytes, offset)) return 0;
      if (offset < static_cast<std::int32_t>(position)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    std::uint32_t scope = 0;
    const bool is_found =
        low < places_count_ && reader_.read_value(places_ + low * kPlaceBytes + kPlaceScope, scope);
    return is_found ? scope : 0;
  }

  // False: it cannot be read. `next`: the scope it is inlined into; 0: none.
  bool read(std::uint32_t scope, std::uint64_t& method, std::uint32_t& position,
            std::uint32_t& next) noexcept {
    constexpr std::uint64_t kThreeNumbers = 15;  // bytes
    const std::uint64_t begin = scopes_ + scope;
    JavaNumbers numbers(java_.version, {begin, begin + kThreeNumbers}, reader_.image_reader());
    std::uint32_t index = 0;
    if (!numbers.next(next) || !numbers.next(index) || !numbers.next(position) || index == 0 ||
        index > kMaxMethods) {
      return false;
    }
    position = position == 0 ? kNoPosition : position - 1;
    return reader_.read_value(methods_ + (index - 1) * sizeof method, method);
  }

 private:
  static constexpr std::uint32_t kPlaceBytes = 16;  // PcDesc
  static constexpr std::uint32_t kPlaceScope = 4;
  static constexpr std::uint32_t kMaxPlaces = 1 << 20;
  static constexpr std::uint32_t kMaxMethods = 1 << 16;

  bool read_offset(std::uint32_t field, std::uint64_t base, std::uint64_t& out) noexcept {
    std::uint32_t offset = 0;
    if (!reader_.read_value(blob_ + field, offset)) return false;
    out = base + offset;
    return true;
  }
  bool open_scopes() noexcept {
    if (layout_.nmethod_scopes_begin != kNoJavaField) {
      return reader_.read_value(blob_ + layout_.nmethod_scopes_begin, scopes_);
    }
    return read_offset(layout_.nmethod_scopes_offset, base_, scopes_);
  }
  bool open_methods() noexcept {
    if (layout_.blob_mutable_data != kNoJavaField) {
      std::uint64_t data = 0;
      return reader_.read_value(blob_ + layout_.blob_mutable_data, data) &&
             read_offset(layout_.blob_relocation_bytes, data, methods_);
    }
    if (layout_.nmethod_immutable_data == kNoJavaField) {
      return read_offset(layout_.nmethod_metadata, blob_, methods_);
    }
    std::uint16_t offset = 0;
    if (!read_offset(layout_.blob_data_offset, blob_, methods_) ||
        !reader_.read_value(blob_ + layout_.nmethod_metadata, offset)) {
      return false;
    }
    methods_ += offset;
    return true;
  }
  // What follows them has its offset in the next field.
  bool open_places() noexcept {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    if (!reader_.read_value(blob_ + layout_.nmethod_scopes_pcs, begin) ||
        !reader_.read_value(blob_ + layout_.nmethod_scopes_pcs + sizeof begin, end) ||
        end < begin) {
      return false;
    }
    places_ = base_ + begin;
    places_count_ = std::min((end - begin) / kPlaceBytes, kMaxPlaces);
    return true;
  }

  const JavaRuntime& java_;
  const JavaLayout& layout_;
  ObjectPieces& reader_;
  std::uint64_t blob_;
  std::uint64_t base_ = 0;
  std::uint64_t scopes_ = 0;
  std::uint64_t methods_ = 0;
  std::uint64_t places_ = 0;
  std::uint32_t places_count_ = 0;
};

bool make_method_token(const JavaRuntime& java, ObjectPieces& reader, std::uint64_t address,
                       const Token& compiled, Token& out) noexcept {
  JavaMethod method;
  if (!read_java_method(java, reader, address, method)) return false;
  out = {.code = address,
         .fingerprint = method.fingerprint,
         .mark = compiled.mark,
         .kind = TokenKind::kJava,
         .flags = kTokenCompiled};
  return true;
}

// 0: there are no scopes, or they cannot be read.
std::size_t expand_scopes(const JavaRuntime& java, ObjectPieces& reader, const Token& token,
                          std::span<Token> out) noexcept {
  JavaScopeReader scopes(java, reader, token.code);
  if (!scopes.open()) return 0;
  std::size_t count = 0;
  std::uint32_t scope = scopes.find(token.position);
  while (scope != 0 && count < out.size() && count < kMaxJavaInlined) {
    std::uint64_t method = 0;
    std::uint32_t position = 0;
    if (!scopes.read(scope, method, position, scope) ||
        !make_method_token(java, reader, method, token, out[count])) {
      return 0;
    }
    out[count].position = position;
    if (scope != 0) out[count].flags |= kTokenInlined;
    ++count;
  }
  return count;
}

}  // namespace

std::size_t expand_java_token(const JavaRuntime& java, ObjectPieces& reader, const Token& token,
                              std::span<Token> out) noexcept {
  if (out.empty() || !is_same_java_code(java, reader, token)) return 0;
  std::size_t count = expand_scopes(java, reader, token, out);
  std::uint64_t method = 0;
  if (count == 0) {
    count = reader.read_value(token.code + java.layout.nmethod_method, method) &&
                    make_method_token(java, reader, method, token, out[0])
                ? 1
                : 0;
  }
  return is_same_java_code(java, reader, token) ? count : 0;
}

bool read_java_function(const JavaRuntime& java, ObjectPieces& reader, const Token& token,
                        FunctionText& out) noexcept {
  JavaMethod method;
  if (!is_same_method(java, reader, token, method) ||
      !read_name(java.layout, reader, method, out) ||
      !read_file(java.layout, reader, method, out)) {
    return false;
  }
  out.first_line = line_at(java, reader, method, 0);
  return is_same_method(java, reader, token, method);
}

bool read_java_line(const JavaRuntime& java, ObjectPieces& reader, const Token& token,
                    std::uint32_t& line) noexcept {
  JavaMethod method;
  if (!is_same_method(java, reader, token, method)) return false;
  line = line_at(java, reader, method, token.position);
  return is_same_method(java, reader, token, method);
}

}  // namespace swipr::runtimes
