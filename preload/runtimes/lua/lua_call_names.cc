#include "preload/runtimes/lua/lua_call_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "preload/runtimes/lua/lua_names.h"
#include "preload/runtimes/utf8_text.h"

namespace swipr::runtimes {
namespace {

// OpCode, in lopcodes.h: the same numbers in all versions.
enum LuaOperation : std::uint32_t {
  kOpMove = 0,
  kOpLoadNil = 8,
  kOpGetUpvalue = 9,
  kOpSetUpvalue = 10,
  kOpGetInUpvalue = 11,
  kOpGetField = 14,
  kOpSetInUpvalue = 15,
  kOpSetField = 18,
  kOpSelf = 20,
  kOpOfTwo = 46,  // OP_MMBIN and two more: the event is in C
  kOpOfTwoLast = 48,
  kOpMinus = 49,
  kOpNot = 50,  // of bits
  kOpLength = 52,
  kOpConcatenate = 53,
  kOpClose = 54,
  kOpJump = 56,
  kOpEqual = 57,
  kOpLess = 58,
  kOpLessOrEqual = 59,
  kOpLessThanNumber = 62,  // and three more, in turns with those or equal
  kOpGreaterOrEqualNumber = 65,
  kOpTest = 66,
  kOpCall = 68,
  kOpTailCall = 69,
  kOpReturn = 70,
  kOpReturnLast = 72,
  kOpPrepareIterator = 75,
  kOpIterate = 76,
  kOpSetList = 78,
  kOpExtraArgument = 82
};

// TMS, in ltm.h.
constexpr std::string_view kEvents =
    "index newindex gc mode len eq add sub mul mod pow div idiv band bor bxor shl shr unm bnot lt "
    "le concat call close ";
enum LuaEvent : std::uint8_t {
  kEventIndex = 0,
  kEventNewIndex = 1,
  kEventLen = 4,
  kEventEq = 5,
  kEventUnm = 18,
  kEventBnot = 19,
  kEventLt = 20,
  kEventLe = 21,
  kEventConcat = 22,
  kEventOnClose = 24,
  kEventNoEvent = 25
};

class LuaInstruction {
 public:
  constexpr explicit LuaInstruction(std::uint32_t bits) noexcept : bits_(bits) {}
  constexpr std::uint32_t operation() const noexcept { return bits_ & 0x7f; }
  constexpr std::uint32_t a() const noexcept { return bits_ >> 7 & 0xff; }
  constexpr bool k() const noexcept { return (bits_ >> 15 & 1) != 0; }
  constexpr std::uint32_t b() const noexcept { return bits_ >> 16 & 0xff; }
  constexpr std::uint32_t c() const noexcept { return bits_ >> 24; }
  constexpr std::int64_t jump() const noexcept { return std::int64_t{bits_ >> 7} - 0xff'ffff; }

  bool changes(std::uint32_t value) const noexcept {
    const std::uint32_t op = operation();
    if (op == kOpLoadNil) return value >= a() && value <= a() + b();
    if (op == kOpIterate) return value >= a() + 2;
    if (op == kOpCall || op == kOpTailCall) return value >= a();
    const auto is_in = [op](std::uint32_t first, std::uint32_t last) {
      return op >= first && op <= last;
    };
    const bool sets_none = op == kOpSetUpvalue || is_in(kOpSetInUpvalue, kOpSetField) ||
                           is_in(kOpOfTwo, kOpOfTwoLast) || is_in(kOpClose, kOpTest) ||
                           is_in(kOpReturn, kOpReturnLast) || op == kOpPrepareIterator ||
                           op == kOpSetList || op >= kOpExtraArgument;
    return !sets_none && value == a();
  }

 private:
  std::uint32_t bits_;
};

// By operation.
constexpr auto kEventOf = [] {
  std::array<std::uint8_t, kOpReturnLast + 1> events{};
  events.fill(kEventNoEvent);
  for (unsigned op = kOpGetInUpvalue; op <= kOpGetField; ++op) events[op] = kEventIndex;
  for (unsigned op = kOpSetInUpvalue; op <= kOpSetField; ++op) events[op] = kEventNewIndex;
  for (unsigned op = kOpLessThanNumber; op <= kOpGreaterOrEqualNumber; ++op) {
    events[op] = op % 2 == 0 ? kEventLt : kEventLe;
  }
  for (unsigned op = kOpReturn; op <= kOpReturnLast; ++op) events[op] = kEventOnClose;
  events[kOpSelf] = kEventIndex;
  events[kOpMinus] = kEventUnm;
  events[kOpNot] = kEventBnot;
  events[kOpLength] = kEventLen;
  events[kOpConcatenate] = kEventConcat;
  events[kOpClose] = kEventOnClose;
  events[kOpEqual] = kEventEq;
  events[kOpLess] = kEventLt;
  events[kOpLessOrEqual] = kEventLe;
  return events;
}();

std::uint32_t event_of(LuaInstruction instruction) noexcept {
  const std::uint32_t op = instruction.operation();
  if (op >= kOpOfTwo && op <= kOpOfTwoLast) return instruction.c();
  return op < kEventOf.size() ? kEventOf[op] : std::uint8_t{kEventNoEvent};
}

class LuaCaller {
 public:
  LuaCaller(ObjectPieces& reader, const LuaCode& code, std::uint32_t position,
            BoundedText<1024>& out) noexcept
      : reader_(reader), code_(code), position_(position), out_(out) {}

  void append_name() noexcept {
    std::uint32_t bits = 0;
    if (!read(position_, bits)) return;
    const LuaInstruction call(bits);
    if (call.operation() != kOpCall && call.operation() != kOpTailCall) {
      return append_lua_event(bits, out_);
    }
    if (!find_setter(call.a(), bits)) return;
    const LuaInstruction setter(bits);
    switch (setter.operation()) {
      case kOpMove:
        return append_local(setter.b());
      case kOpGetUpvalue:
        return append_upvalue(setter.b());
      case kOpGetInUpvalue:
      case kOpGetField:
        return append_constant(setter.c());
      case kOpSelf:
        if (setter.k()) append_constant(setter.c());
        return;
      default:
        return;
    }
  }

 private:
  bool read(std::uint32_t position, std::uint32_t& bits) noexcept {
    return position < static_cast<std::uint32_t>(std::max(code_.instruction_count, 0)) &&
           reader_.read_value(code_.instructions + std::uint64_t{position} * 4, bits);
  }

  // The last instruction before the call that sets the register, if it is on all ways there.
  bool find_setter(std::uint32_t value, std::uint32_t& out) noexcept {
    std::int64_t target = 0;  // of jumps: what is before it may be left out
    bool is_found = false;
    if (position_ > kMaxLuaSteps) return false;
    for (std::uint32_t at = 0; at < position_; ++at) {
      std::uint32_t bits = 0;
      if (!read(at, bits)) return false;
      const LuaInstruction instruction(bits);
      if (instruction.operation() == kOpJump) {
        const std::int64_t end = at + 1 + instruction.jump();
        if (end <= position_) target = std::max(target, end);
      } else if (instruction.changes(value)) {
        is_found = at >= target;
        out = bits;
      }
    }
    return is_found;
  }

  // The variables are sorted by where they begin.
  void append_local(std::uint32_t value) noexcept {
    struct Local {
      std::uint64_t name;
      std::int32_t begin;
      std::int32_t end;
    };
    const auto position = static_cast<std::int64_t>(position_);
    const auto count = std::min<std::int64_t>(code_.local_count, kMaxLuaSteps);
    for (std::int64_t index = 0; index < count; ++index) {
      Local local{};
      if (!reader_.read_value(code_.locals + static_cast<std::uint64_t>(index) * sizeof local,
                              local) ||
          local.begin > position) {
        return;
      }
      if (position < local.end && value-- == 0) {
        append_lua_text(reader_, local.name, out_);
        return;
      }
    }
  }

  void append_upvalue(std::uint32_t index) noexcept {
    constexpr std::uint64_t kUpvalueBytes = 16;  // Upvaldesc
    std::uint64_t name = 0;
    if (static_cast<std::int64_t>(index) < code_.upvalue_count &&
        reader_.read_value(code_.upvalues + index * kUpvalueBytes, name)) {
      append_lua_text(reader_, name, out_);
    }
  }

  void append_constant(std::uint32_t index) noexcept {
    LuaValue value{};
    if (static_cast<std::int64_t>(index) < code_.constant_count &&
        reader_.read_value(code_.constants + index * sizeof value, value) &&
        (value.type() & kLuaIsObject) != 0) {
      append_lua_text(reader_, value.contents, out_);
    }
  }

  ObjectPieces& reader_;
  const LuaCode& code_;
  std::uint32_t position_;
  BoundedText<1024>& out_;
};

}  // namespace

void append_lua_event(std::uint32_t instruction, BoundedText<1024>& out) noexcept {
  const LuaInstruction caller(instruction);
  if (caller.operation() == kOpIterate) return out.append_ascii("for iterator");
  std::uint32_t event = event_of(caller);
  if (event >= kEventNoEvent) return;
  out.append_ascii("__");
  for (const char c : kEvents) {
    if (c == ' ' && event-- == 0) return;
    if (c != ' ' && event == 0) out.append(static_cast<unsigned char>(c));
  }
}

void append_lua_call(ObjectPieces& reader, const LuaCode& caller, std::uint32_t position,
                     BoundedText<1024>& out) noexcept {
  LuaCaller(reader, caller, position, out).append_name();
}

// TString
bool find_lua_text(ObjectPieces& reader, std::uint64_t text, std::uint64_t& begin,
                   std::uint64_t& length) noexcept {
  struct Head {
    std::uint64_t next;
    std::uint8_t type;
    std::uint8_t mark;
    std::uint8_t extra;
    std::uint8_t short_length;
    std::uint32_t hash;
    std::uint64_t long_length;
  };
  Head head{};
  if (text == 0 || text % 8 != 0 || !reader.read_value(text, head)) return false;
  begin = text + sizeof head;
  length = head.type == kLuaLongText ? head.long_length : head.short_length;
  return head.type == kLuaLongText || head.type == kLuaShortText;
}

bool append_lua_text(ObjectPieces& reader, std::uint64_t text, BoundedText<1024>& out) noexcept {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  return find_lua_text(reader, text, begin, length) && append_utf8(reader, begin, length, out);
}

}  // namespace swipr::runtimes
