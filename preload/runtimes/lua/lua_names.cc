#include "preload/runtimes/lua/lua_names.h"

#include <algorithm>
#include <array>

#include "preload/runtimes/lua/lua_call_names.h"
#include "preload/runtimes/lua/lua_frames.h"
#include "preload/runtimes/utf8_text.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kMostShown = 60;  // LUA_IDSIZE

// False: it is not, or no longer, the function of that fingerprint.
bool read_lua_code(ObjectPieces& reader, std::uint64_t address, std::uint64_t fingerprint,
                   LuaCode& out) noexcept {
  return reader.read_value(address, out) && out.type == kLuaCodeType &&
         fingerprint_of(out) == static_cast<std::uint32_t>(fingerprint);
}

// The name by which it was called; empty: none is known. False: the caller is gone.
bool append_caller_name(ObjectPieces& reader, const Token& token, BoundedText<1024>& out) noexcept {
  const auto half = static_cast<std::uint32_t>(token.fingerprint >> 32);
  if ((token.flags & kTokenEndsLoop) != 0 || token.mark == 0) {
    if (half == kLuaFinalizer) {
      out.append_ascii("__gc");
    } else if (half != kLuaUnknownCall) {
      append_lua_event(half, out);
    }
    return true;
  }
  LuaCode caller{};
  const std::uint64_t address = lua_caller(token.mark);
  if (!read_lua_code(reader, address, half, caller)) return false;
  append_lua_call(reader, caller, lua_caller_position(token.mark), out);
  reader.forget();
  return read_lua_code(reader, address, half, caller);
}

bool read_source(ObjectPieces& reader, std::uint64_t source, BoundedText<4096>& out) noexcept {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  if (source == 0) {  // code without debug information
    out.append('?');
    return true;
  }
  return find_lua_text(reader, source, begin, length) &&
         append_lua_source(reader, begin, length, out);
}

std::uint32_t valid_line(std::int64_t line) noexcept {
  return line > 0 && line <= kMaxRuntimeLine ? static_cast<std::uint32_t>(line) : 0;
}

}  // namespace

bool append_lua_source(ObjectPieces& reader, std::uint64_t begin, std::uint64_t length,
                       BoundedText<4096>& out) noexcept {
  std::array<char, kMostShown> text{};
  const std::uint64_t count = std::min<std::uint64_t>(length, text.size());
  if (!reader.read(begin, std::as_writable_bytes(std::span(text).first(count)))) return false;
  if (length != 0 && (text[0] == '@' || text[0] == '=')) {
    return append_utf8(reader, begin + 1, length - 1, out);
  }
  const auto end = std::find(text.begin(), text.begin() + count, '\n');
  const auto shown = static_cast<std::uint64_t>(end - text.begin());
  out.append_ascii("[string \"");
  if (!append_utf8(reader, begin, shown, out)) return false;
  out.append_ascii(shown < length ? "...\"]" : "\"]");
  return true;
}

// As Lua says it; of the file its name alone, which has no '/'.
void append_lua_place(const FunctionText& text, BoundedText<1024>& out) noexcept {
  std::string_view file = text.file.view();
  if (!file.empty() && file[0] != '[') file.remove_prefix(file.rfind('/') + 1);
  out.append_ascii("function <");
  out.append_valid(file);
  out.append(':');
  out.append_number(text.first_line);
  out.append('>');
}

bool read_lua_function(ObjectPieces& reader, const Token& token, FunctionText& out) noexcept {
  LuaCode code{};
  reader.forget();
  out.name.clear();
  out.file.clear();
  out.first_line = 0;
  if ((token.flags & kTokenBuiltIn) != 0) {
    if (!append_caller_name(reader, token, out.name)) return false;
    if (out.name.view().empty()) out.name.append_ascii("function of C");
    return true;
  }
  if (!read_lua_code(reader, token.code, token.fingerprint, code)) return false;
  out.first_line = valid_line(code.first_line);
  if (!read_source(reader, code.source, out.file)) return false;
  if (code.first_line == 0) {
    out.name.append_ascii("main chunk");
  } else if (!append_caller_name(reader, token, out.name) || out.name.view().empty()) {
    out.name.clear();
    append_lua_place(out, out.name);
  }
  reader.forget();
  return read_lua_code(reader, token.code, token.fingerprint, code);
}

bool read_lua_line(ObjectPieces& reader, const Token& token, std::uint32_t& line) noexcept {
  LuaCode code{};
  line = 0;
  if ((token.flags & kTokenBuiltIn) != 0) return true;
  reader.forget();
  if (!read_lua_code(reader, token.code, token.fingerprint, code)) return false;
  std::int64_t found = code.first_line;
  std::int64_t next = 0;  // the first instruction whose distance counts
  if (token.position != kNoPosition && code.lines != 0 &&
      std::int64_t{token.position} < code.line_count) {
    struct KnownLine {
      std::int32_t position;
      std::int32_t line;
    } known{};
    // The last known line that is not behind it.
    const auto count =
        std::min(static_cast<std::uint32_t>(std::max(code.known_line_count, 0)), kMaxLuaSteps);
    for (std::uint64_t index = 0; index < count; ++index) {
      if (!reader.read_value(code.known_lines + index * sizeof known, known)) return false;
      if (known.position > std::int64_t{token.position}) break;
      found = known.line;
      next = std::int64_t{known.position} + 1;
    }
    for (std::uint32_t step = 0; next <= std::int64_t{token.position}; ++next) {
      std::int8_t distance = 0;
      if (++step > kMaxLuaSteps || next < 0 ||
          !reader.read_value(code.lines + static_cast<std::uint64_t>(next), distance)) {
        return false;
      }
      found += distance;
    }
  } else if (code.lines == 0) {
    found = 0;
  }
  line = valid_line(found);
  return read_lua_code(reader, token.code, token.fingerprint, code);
}

}  // namespace swipr::runtimes
