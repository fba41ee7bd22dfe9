#include "preload/runtimes/luajit/luajit_names.h"

#include <algorithm>
#include <string_view>

#include "preload/runtimes/lua/lua_names.h"
#include "preload/runtimes/luajit/luajit_frames.h"
#include "preload/runtimes/utf8_text.h"

namespace swipr::runtimes {
namespace {

// BCOp, in lj_bc.h: the same numbers in all versions.
enum LuaJitOperation : std::uint32_t {
  kBcMove = 18,
  kBcUnm = 20,
  kBcLen = 21,
  kBcAdd = 22,  // and four more; three times: with constants behind and before, without
  kBcPow = 37,
  kBcConcatenate = 38,
  kBcNil = 44,
  kBcGetUpvalue = 45,
  kBcGetGlobal = 54,
  kBcSetGlobal = 55,
  kBcGetField = 57,
  kBcGetLast = 59,
  kBcSetLast = 64,
  kBcCall = 65,  // and three more
  kBcIterate = 69,
  kBcIterateNext = 70,
};

constexpr bool is_in(std::uint32_t op, std::uint32_t first, std::uint32_t last) noexcept {
  return op >= first && op <= last;
}
// The first operand is the value that is set …
constexpr bool sets_value(std::uint32_t op) noexcept {
  return is_in(op, 12, 13) || is_in(op, 18, 43) || op == kBcGetUpvalue || is_in(op, 51, 54) ||
         is_in(op, 56, 59);
}
// … or the first of those that are.
constexpr bool sets_values(std::uint32_t op) noexcept {
  return op == kBcNil || op == 63 || is_in(op, kBcCall, 73) || is_in(op, 77, 84);
}

std::string_view event_of(std::uint32_t op) noexcept {
  constexpr std::string_view kArithmetic = "__add__sub__mul__div__mod";
  constexpr std::size_t kLength = 5;
  if (op < 2) return "__lt";
  if (op < 4) return "__le";
  if (op < 12) return "__eq";
  if (op == kBcUnm) return "__unm";
  if (op == kBcLen) return "__len";
  if (is_in(op, kBcAdd, kBcPow - 1)) {
    return {kArithmetic.data() + (op - kBcAdd) % 5 * kLength, kLength};
  }
  if (op == kBcPow) return "__pow";
  if (op == kBcConcatenate) return "__concat";
  if (op != kBcSetGlobal && is_in(op, kBcGetGlobal, kBcGetLast)) return "__index";
  if (op == kBcSetGlobal || is_in(op, kBcGetLast + 1, kBcSetLast)) return "__newindex";
  if (op == kBcIterate || op == kBcIterateNext) return "for iterator";
  return {};
}

// False: it is not, or no longer, the function of that fingerprint.
bool read_luajit_code(ObjectPieces& reader, std::uint64_t address, std::uint64_t fingerprint,
                      LuaJitCode& out) noexcept {
  return address % 8 == 0 && reader.read_value(address, out) && out.type == kLuaJitCodeType &&
         fingerprint_of(out) == static_cast<std::uint32_t>(fingerprint);
}

bool find_luajit_text(ObjectPieces& reader, std::uint64_t text, std::uint64_t& begin,
                      std::uint64_t& length) noexcept {
  struct {
    std::uint64_t next;
    std::uint8_t mark;
    std::uint8_t type;
    std::uint8_t reserved[10];
    std::uint32_t length;
  } head{};
  static_assert(sizeof head == 24);
  if (text == 0 || text % 8 != 0 || !reader.read_value(text, head)) return false;
  begin = text + sizeof head;
  length = head.length;
  return head.type == kLuaJitText;
}

// What a call calls.
class LuaJitCaller {
 public:
  LuaJitCaller(ObjectPieces& reader, std::uint64_t address, const LuaJitCode& code,
               BoundedText<1024>& out) noexcept
      : reader_(reader), begin_(address + sizeof code), code_(code), out_(out) {}

  void append_name(std::uint32_t position) noexcept {
    std::uint32_t call = 0;
    if (!read_instruction(position, call)) return;
    const std::uint32_t op = call & 0xff;
    if (!is_in(op, kBcCall, kBcIterate - 1)) return out_.append_ascii(event_of(op));
    std::uint32_t value = call >> 8 & 0xff;
    while (!append_local(position, value)) {
      if (!find_setter(value, position)) return;
    }
  }

 private:
  bool read_instruction(std::uint32_t position, std::uint32_t& bits) noexcept {
    return position < code_.instruction_count && steps_left_-- != 0 &&
           reader_.read_value(begin_ + std::uint64_t{position} * 4, bits);
  }

  // The instruction before that position which sets the value. True: it moves another one there,
  // which `value` becomes. Otherwise what it says is appended.
  bool find_setter(std::uint32_t& value, std::uint32_t& position) noexcept {
    std::uint32_t bits = 0;
    while (position > 1 && read_instruction(--position, bits)) {
      const std::uint32_t op = bits & 0xff;
      const std::uint32_t first = bits >> 8 & 0xff;
      const std::uint32_t last = bits >> 16;
      if (sets_values(op) && value >= first && (op != kBcNil || value <= last)) return false;
      if (!sets_value(op) || value != first) continue;
      value = last;
      if (op == kBcMove) return true;
      if (op == kBcGetGlobal) append_constant(last);
      if (op == kBcGetField) append_constant(last & 0xff);
      if (op == kBcGetUpvalue) append_upvalue(last);
      return false;
    }
    return false;
  }

  void append_constant(std::uint32_t index) noexcept {
    std::uint64_t text = 0;
    std::uint64_t length = 0;
    if (index < code_.object_count &&
        reader_.read_value(code_.constants - (std::uint64_t{index} + 1) * 8, text) &&
        find_luajit_text(reader_, text, text, length)) {
      append_utf8(reader_, text, length, out_);
    }
  }

  // Names end with 0. Their number of bytes; kMaxLuaSteps: unreadable.
  std::uint32_t length_of(std::uint64_t name) noexcept {
    std::uint8_t byte = 0;
    std::uint32_t length = 0;
    while (length < kMaxLuaSteps && (!reader_.read_value(name + length, byte) || byte != 0)) {
      if (byte == 0) return kMaxLuaSteps;
      ++length;
    }
    return length;
  }

  void append_upvalue(std::uint32_t index) noexcept {
    std::uint64_t name = code_.upvalue_names;
    if (index >= code_.upvalue_count || name == 0) return;
    for (; index != 0; --index) name += length_of(name) + 1;
    append_name_at(name);
  }
  void append_name_at(std::uint64_t name) noexcept {
    const std::uint32_t length = length_of(name);
    if (length != kMaxLuaSteps) append_utf8(reader_, name, length, out_);
  }

  bool read_number(std::uint64_t& at, std::uint64_t& out) noexcept {
    std::uint8_t byte = 0x80;
    out = 0;
    for (unsigned shift = 0; (byte & 0x80) != 0 && shift < 35; shift += 7) {
      if (!reader_.read_value(at++, byte)) return false;
      out |= std::uint64_t{byte & 0x7fu} << shift;
    }
    return true;
  }

  // The variables are sorted by where they begin.
  bool append_local(std::uint32_t position, std::uint32_t value) noexcept {
    constexpr std::uint8_t kNamed = 7;  // those below are hidden variables of loops; 0: the end
    std::uint64_t at = code_.locals;
    std::uint64_t begin = 0;
    for (unsigned left = 256; at != 0 && left != 0; --left) {
      std::uint8_t kind = 0;
      const std::uint64_t name = at;
      if (!reader_.read_value(at++, kind) || kind == 0) return false;
      if (kind >= kNamed) at = name + length_of(name) + 1;
      std::uint64_t distance = 0;
      std::uint64_t length = 0;
      if (!read_number(at, distance) || (begin += distance) > position ||
          !read_number(at, length)) {
        return false;
      }
      if (position >= begin + length || value-- != 0) continue;
      if (kind >= kNamed) append_name_at(name);
      return true;
    }
    return false;
  }

  ObjectPieces& reader_;
  std::uint64_t begin_;
  const LuaJitCode& code_;
  BoundedText<1024>& out_;
  std::uint32_t steps_left_ = kMaxLuaSteps;
};

// The name by which it was called; empty: none is known. False: the caller is gone.
bool append_luajit_name(ObjectPieces& reader, const Token& token, BoundedText<1024>& out) noexcept {
  if ((token.flags & kTokenEndsLoop) != 0 || token.mark == 0) return true;
  LuaJitCode caller{};
  const std::uint64_t address = lua_caller(token.mark);
  const std::uint64_t proof = token.fingerprint >> 32;
  if (!read_luajit_code(reader, address, proof, caller)) return false;
  LuaJitCaller(reader, address, caller, out).append_name(lua_caller_position(token.mark));
  reader.forget();
  return read_luajit_code(reader, address, proof, caller);
}

}  // namespace

bool read_luajit_function(ObjectPieces& reader, const Token& token, FunctionText& out) noexcept {
  LuaJitCode code{};
  std::uint64_t source = 0;
  std::uint64_t length = 0;
  reader.forget();
  out.name.clear();
  out.file.clear();
  out.first_line = 0;
  if ((token.flags & kTokenBuiltIn) != 0) {
    if (!append_luajit_name(reader, token, out.name)) return false;
    if (out.name.view().empty()) out.name.append_ascii("function of C");
    return true;
  }
  if (!read_luajit_code(reader, token.code, token.fingerprint, code) ||
      !find_luajit_text(reader, code.source, source, length) ||
      !append_lua_source(reader, source, length, out.file)) {
    return false;
  }
  out.first_line = code.first_line <= kMaxRuntimeLine ? code.first_line : 0;
  if (code.first_line == 0 && code.line_count != 0) {
    out.name.append_ascii("main chunk");
  } else if (!append_luajit_name(reader, token, out.name) || out.name.view().empty()) {
    out.name.clear();
    append_lua_place(out, out.name);
  }
  reader.forget();
  return read_luajit_code(reader, token.code, token.fingerprint, code);
}

bool read_luajit_line(ObjectPieces& reader, const Token& token, std::uint32_t& line) noexcept {
  LuaJitCode code{};
  line = 0;
  if ((token.flags & (kTokenBuiltIn | kTokenCompiled)) != 0) return true;
  reader.forget();
  if (!read_luajit_code(reader, token.code, token.fingerprint, code)) return false;
  std::uint64_t distance = 0;
  // The first instruction is the function's head, which has no line.
  if (token.position != kNoPosition && token.position != 0 && code.lines != 0 &&
      token.position < code.instruction_count) {
    const std::size_t bytes = code.line_count < 256 ? 1 : code.line_count < 65536 ? 2 : 4;
    const std::uint64_t at = code.lines + (std::uint64_t{token.position} - 1) * bytes;
    const auto out = std::as_writable_bytes(std::span(&distance, 1)).first(bytes);
    if (!reader.read(at, out)) return false;
  }
  const std::uint64_t found = code.lines == 0 ? 0 : code.first_line + distance;
  line = found <= kMaxRuntimeLine ? static_cast<std::uint32_t>(found) : 0;
  return read_luajit_code(reader, token.code, token.fingerprint, code);
}

}  // namespace swipr::runtimes
