#include "preload/runtimes/v8/v8_names.h"

#include <string_view>

#include "preload/runtimes/v8/v8_code.h"
#include "preload/runtimes/v8/v8_frames.h"
#include "preload/runtimes/v8/v8_scope.h"
#include "preload/runtimes/v8/v8_text.h"

namespace swipr::runtimes {

template class V8FrameReader<ObjectPieces>;
template void read_v8_tokens(const V8Runtime&, ObjectPieces&, const unwind::FrameBuffer&,
                             const V8Registers&, TokenBuffer&) noexcept;

namespace {

struct SharedFunction {
  std::uint64_t name = 0;    // a tagged pointer to a string; 0: none
  std::uint64_t scope = 0;   // an object; 0: it has none
  std::uint64_t script = 0;  // likewise
};

// Reads the function anew. False: it is another one, or its parts are not what they should be.
bool read_shared(const V8Runtime& v8, ObjectPieces& reader, const Token& token,
                 SharedFunction& out) noexcept {
  const V8Layout& layout = v8.layout;
  std::uint64_t fingerprint = 0;
  std::uint64_t name = 0;
  std::uint64_t script = 0;
  std::int32_t type = 0;
  reader.forget();
  if (token.kind != TokenKind::kJavaScript || !read_v8_type(layout, reader, token.code + 1, type) ||
      type != layout.shared_type || !read_v8_fingerprint(layout, reader, token.code, fingerprint) ||
      fingerprint != token.fingerprint ||
      !reader.read_value(at_v8_offset(token.code, layout.shared_name), name) ||
      !reader.read_value(at_v8_offset(token.code, layout.shared_script), script) ||
      !read_v8_type(layout, reader, script, type)) {
    return false;
  }
  out = {};
  if (type == layout.script_type) {
    out.script = v8_object(script);
  } else if (type != layout.oddball_type) {
    return false;
  }
  if (v8_object(name) == 0) return true;  // built in
  if (!read_v8_type(layout, reader, name, type)) return false;
  if (type == layout.scope_type) out.scope = v8_object(name);
  if (type < layout.first_other_type) out.name = name;
  return out.scope != 0 || out.name != 0;
}

void append_text(std::string_view text, BoundedText<1024>& out) noexcept {
  for (const char c : text) out.append(static_cast<unsigned char>(c));
}

void append_place(const V8Scope& scope, V8Place place, BoundedText<1024>& out) noexcept {
  append_text("(anonymous:", out);
  if (place.line != 0) {
    out.append_number(place.line);
    out.append(':');
    out.append_number(place.column);
  } else {
    out.append('@');
    out.append_number(scope.begin);
  }
  out.append(')');
}

// False: it cannot be read; an empty name: it has none.
bool read_own_name(const V8Layout& layout, ObjectPieces& reader, const SharedFunction& function,
                   const V8Scope& scope, BoundedText<1024>& out) noexcept {
  for (const std::uint64_t name : {function.name, scope.name, scope.inferred}) {
    if (name != 0 && !read_v8_text(layout, reader, name, out)) return false;
    if (!out.view().empty()) return true;
  }
  return true;
}

void name_by_place(const V8Traits& traits, const SharedFunction& function, const V8Scope& scope,
                   V8Place place, BoundedText<1024>& out) noexcept {
  if (function.script == 0) return append_text("(built in)", out);
  if (scope.type == traits.eval_scope) return append_text("eval", out);
  if (scope.begin == 0) return append_text("(top level)", out);
  append_place(scope, place, out);
}

bool read_file(const V8Layout& layout, ObjectPieces& reader, std::uint64_t script,
               BoundedText<4096>& out) noexcept {
  std::uint64_t name = 0;
  out.clear();
  if (script == 0) return true;
  if (!reader.read_value(at_v8_offset(script, layout.script_name), name)) return false;
  if (is_v8_string(layout, reader, name)) return read_v8_text(layout, reader, name, out);
  for (const char c : std::string_view("<eval>")) out.append(static_cast<unsigned char>(c));
  return true;
}

// The bytecode is the first field of the function's, that of its code if that is compiled from it.
// 0: it has none, or other code.
std::uint64_t find_bytecode(const V8Layout& layout, ObjectPieces& reader,
                            std::uint64_t shared) noexcept {
  constexpr std::uint64_t kFirst = 8;
  constexpr std::uint64_t kSecond = 16;
  std::uint64_t data = 0;
  std::int32_t type = 0;
  if (!reader.read_value(shared + kFirst, data) || !read_v8_type(layout, reader, data, type)) {
    return 0;
  }
  if (type == layout.bytecode_type) return v8_object(data);
  for (const std::uint64_t field : {kFirst, kSecond}) {
    std::uint64_t inner = 0;
    if (reader.read_value(v8_object(data) + field, inner) &&
        read_v8_type(layout, reader, inner, type) && type == layout.bytecode_type) {
      return v8_object(inner);
    }
  }
  return 0;
}

}  // namespace

bool read_v8_function(const V8Runtime& v8, ObjectPieces& reader, const Token& token,
                      V8LineCache& lines, FunctionText& out) noexcept {
  const V8Layout& layout = v8.layout;
  SharedFunction function;
  V8Scope scope;
  V8Place place;
  out.name.clear();
  out.first_line = 0;
  if (!read_shared(v8, reader, token, function) ||
      (function.scope != 0 && !read_v8_scope(v8, reader, function.scope, scope)) ||
      !read_file(layout, reader, function.script, out.file) ||
      !read_own_name(layout, reader, function, scope, out.name)) {
    return false;
  }
  if (function.script != 0 && function.scope != 0 &&
      !find_v8_place(layout, reader, function.script, scope.begin, lines, place)) {
    return false;
  }
  out.first_line = place.line;
  if (out.name.view().empty()) name_by_place(v8.traits, function, scope, place, out.name);
  return read_shared(v8, reader, token, function);
}

bool read_v8_line(const V8Runtime& v8, ObjectPieces& reader, const Token& token, V8LineCache& lines,
                  std::uint32_t& line) noexcept {
  SharedFunction function;
  line = 0;
  if (!read_shared(v8, reader, token, function)) return false;
  if (token.position == kNoPosition || function.script == 0) return true;
  const bool is_source = (token.position & kV8SourcePosition) != 0;
  const std::uint64_t bytecode = is_source ? 0 : find_bytecode(v8.layout, reader, token.code);
  const std::uint32_t position = is_source ? token.position & ~kV8SourcePosition
                                 : bytecode != 0
                                     ? find_v8_position(v8, reader, bytecode, token.position)
                                     : kNoV8Position;
  V8Place place;
  if (position != kNoV8Position &&
      !find_v8_place(v8.layout, reader, function.script, position, lines, place)) {
    return false;
  }
  line = place.line;
  return read_shared(v8, reader, token, function);
}

}  // namespace swipr::runtimes
