#include "preload/unwind/walk/expression.h"

#include "common/core/byte_cursor.h"

namespace swipr::unwind {
namespace {

// Operation codes of DWARF 5, section 7.7.1.
enum Op : std::uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kPick = 0x15,
  kSwap = 0x16,
  kRot = 0x17,
  kAbs = 0x19,
  kAnd = 0x1a,
  kDiv = 0x1b,
  kMinus = 0x1c,
  kMod = 0x1d,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kShr = 0x25,
  kShra = 0x26,
  kXor = 0x27,
  kBra = 0x28,
  kEq = 0x29,
  kGe = 0x2a,
  kGt = 0x2b,
  kLe = 0x2c,
  kLt = 0x2d,
  kNe = 0x2e,
  kSkip = 0x2f,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kBregx = 0x92,
  kDerefSize = 0x94,
  kNop = 0x96,
};

class Machine {
 public:
  Machine(std::span<const std::byte> expression, const Registers& registers,
          StackReader reader) noexcept
      : cursor_(expression), registers_(registers), reader_(reader) {}

  EvaluateStatus run(const std::uint64_t* initial, std::uint64_t& result) noexcept {
    if (initial != nullptr) push(*initial);
    for (unsigned steps = 0; !cursor_.at_end() && status_ == EvaluateStatus::kOk; ++steps) {
      if (steps == kExpressionSteps) return EvaluateStatus::kInvalid;
      execute(cursor_.u8());
    }
    if (status_ != EvaluateStatus::kOk) return status_;
    if (cursor_.failed() || depth_ == 0) return EvaluateStatus::kInvalid;
    result = stack_[depth_ - 1];
    return EvaluateStatus::kOk;
  }

 private:
  void stop(EvaluateStatus status) noexcept {
    if (status_ == EvaluateStatus::kOk) status_ = status;
  }
  void push(std::uint64_t value) noexcept {
    if (depth_ == kExpressionStack) return stop(EvaluateStatus::kInvalid);
    stack_[depth_++] = value;
  }
  void push_signed(std::int64_t value) noexcept { push(static_cast<std::uint64_t>(value)); }
  std::uint64_t pop() noexcept {
    if (depth_ == 0) {
      stop(EvaluateStatus::kInvalid);
      return 0;
    }
    return stack_[--depth_];
  }

  void push_register(std::uint64_t reg, std::int64_t offset) noexcept {
    if (reg >= Registers::kCount) return stop(EvaluateStatus::kInvalid);
    if (!registers_.knows(static_cast<unsigned>(reg)))
      return stop(EvaluateStatus::kUnknownRegister);
    push(registers_.values[static_cast<std::size_t>(reg)] + static_cast<std::uint64_t>(offset));
  }

  void dereference(unsigned bytes) noexcept {
    if (bytes == 0 || bytes > 8) return stop(EvaluateStatus::kInvalid);
    std::uint64_t word = 0;
    if (!reader_.read_word(reader_.state, pop(), word)) return stop(EvaluateStatus::kUnreadable);
    push(bytes == 8 ? word : word & ((std::uint64_t{1} << (8 * bytes)) - 1));
  }

  void pick(std::size_t index) noexcept {
    if (index >= depth_) return stop(EvaluateStatus::kInvalid);
    push(stack_[depth_ - 1 - index]);
  }

  void rotate(std::size_t count) noexcept {  // the top moves below the next count - 1 entries
    if (count > depth_) return stop(EvaluateStatus::kInvalid);
    const std::uint64_t top = stack_[depth_ - 1];
    for (std::size_t i = 1; i < count; ++i) stack_[depth_ - i] = stack_[depth_ - i - 1];
    stack_[depth_ - count] = top;
  }

  void execute(std::uint8_t op) noexcept {
    if (op >= kLit0 && op <= kLit31) return push(std::uint64_t{op} - kLit0);
    if (op >= kBreg0 && op <= kBreg31) {
      return push_register(std::uint64_t{op} - kBreg0, cursor_.sleb());
    }
    if (op >= kConst1u && op <= kConsts) return push_constant(op);
    if (op >= kDup && op <= kRot) return rearrange(op);
    if ((op >= kAnd && op <= kMul) || op == kOr || op == kPlus || (op >= kShl && op <= kXor) ||
        (op >= kEq && op <= kNe)) {
      const std::uint64_t right = pop();
      const std::uint64_t left = pop();
      return combine(op, left, right);
    }
    if (op == kBregx) {
      const std::uint64_t reg = cursor_.uleb();
      return push_register(reg, cursor_.sleb());
    }
    change_top(op);
  }

  void change_top(std::uint8_t op) noexcept {
    switch (op) {
      case kDeref:
        return dereference(8);
      case kDerefSize:
        return dereference(cursor_.u8());
      case kPlusUconst:
        return push(pop() + cursor_.uleb());
      case kNeg:
        return push(0 - pop());
      case kNot:
        return push(~pop());
      case kAbs: {
        const std::uint64_t value = pop();
        return push(value >> 63 != 0 ? 0 - value : value);
      }
      case kSkip:
        return cursor_.jump(cursor_.fixed<std::int16_t>());
      case kBra: {
        const auto distance = cursor_.fixed<std::int16_t>();
        if (pop() != 0) cursor_.jump(distance);
        return;
      }
      case kNop:
        return;
      default:
        return stop(EvaluateStatus::kInvalid);
    }
  }

  void push_constant(std::uint8_t op) noexcept {
    switch (op) {
      case kConst1u:
        return push(cursor_.fixed<std::uint8_t>());
      case kConst1s:
        return push_signed(cursor_.fixed<std::int8_t>());
      case kConst2u:
        return push(cursor_.fixed<std::uint16_t>());
      case kConst2s:
        return push_signed(cursor_.fixed<std::int16_t>());
      case kConst4u:
        return push(cursor_.fixed<std::uint32_t>());
      case kConst4s:
        return push_signed(cursor_.fixed<std::int32_t>());
      case kConst8u:
      case kConst8s:
        return push(cursor_.fixed<std::uint64_t>());
      case kConstu:
        return push(cursor_.uleb());
      default:
        return push_signed(cursor_.sleb());
    }
  }

  void rearrange(std::uint8_t op) noexcept {
    switch (op) {
      case kDup:
        return pick(0);
      case kDrop:
        static_cast<void>(pop());
        return;
      case kOver:
        return pick(1);
      case kPick:
        return pick(cursor_.u8());
      case kSwap:
        return rotate(2);
      default:
        return rotate(3);
    }
  }

  void combine(std::uint8_t op, std::uint64_t left, std::uint64_t right) noexcept {
    const auto a = static_cast<std::int64_t>(left);
    const auto b = static_cast<std::int64_t>(right);
    switch (op) {
      case kAnd:
        return push(left & right);
      case kOr:
        return push(left | right);
      case kXor:
        return push(left ^ right);
      case kPlus:
        return push(left + right);
      case kMinus:
        return push(left - right);
      case kMul:
        return push(left * right);
      case kDiv:
        if (b == 0 || (b == -1 && a == INT64_MIN)) return stop(EvaluateStatus::kInvalid);
        return push_signed(a / b);
      case kMod:
        if (right == 0) return stop(EvaluateStatus::kInvalid);
        return push(left % right);
      case kShl:
        return push(right < 64 ? left << right : 0);
      case kShr:
        return push(right < 64 ? left >> right : 0);
      case kShra:
        return push_signed(a >> (right < 64 ? right : 63));
      case kEq:
        return push(a == b);
      case kGe:
        return push(a >= b);
      case kGt:
        return push(a > b);
      case kLe:
        return push(a <= b);
      case kLt:
        return push(a < b);
      default:
        return push(a != b);
    }
  }

  ByteCursor cursor_;
  const Registers& registers_;
  StackReader reader_;
  EvaluateStatus status_ = EvaluateStatus::kOk;
  std::size_t depth_ = 0;
  std::uint64_t stack_[kExpressionStack];
};

}  // namespace

EvaluateStatus evaluate(std::span<const std::byte> expression, const Registers& registers,
                        StackReader reader, const std::uint64_t* initial,
                        std::uint64_t& result) noexcept {
  return Machine(expression, registers, reader).run(initial, result);
}

}  // namespace swipr::unwind
