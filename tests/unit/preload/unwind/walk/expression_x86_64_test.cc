#include <gtest/gtest.h>

#include <optional>

#include "preload/unwind/walk/expression.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace swipr::unwind {
namespace {

// Memory holds 0x1000 + address, except at zero, which is unreadable.
bool read(void*, std::uint64_t address, std::uint64_t& out) noexcept {
  out = address + 0x1000;
  return address != 0;
}

struct Result {
  EvaluateStatus status;
  std::uint64_t value;
  bool operator==(const Result&) const = default;
};

Result run(const Bytes& expression, std::optional<std::uint64_t> initial = std::nullopt) {
  Registers registers;
  registers.values[kRsp] = 0x7000;
  registers.values[kRbp] = 0x8000;
  registers.values[kPc] = 0x40b;
  registers.known = 1u << kRsp | 1u << kRbp | 1u << kPc;
  Result result{EvaluateStatus::kOk, 0};
  result.status = evaluate(expression.data, registers, {&read, nullptr},
                           initial ? &*initial : nullptr, result.value);
  return result;
}
Result ok(std::uint64_t value) { return {EvaluateStatus::kOk, value}; }
EvaluateStatus status_of(const Bytes& expression) { return run(expression).status; }

TEST(Expression, ComputesTheCfaOfPltEntries) {
  // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus: what linkers emit
  const Bytes plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  EXPECT_EQ(run(plt), ok(0x7010));  // pc % 16 = 11: the entry has pushed its number
}

TEST(Expression, DereferencesAndAdds) {
  EXPECT_EQ(run({0x76, 0x78, 0x06}), ok(0x8ff8));
  EXPECT_EQ(run({0x77, 0x98, 1, 0x06, 0x23, 8}), ok(0x80a0));
  EXPECT_EQ(run({0x77, 0x08, 0x94, 1}), ok(0x08));
}

TEST(Expression, StartsWithTheInitialValue) {
  EXPECT_EQ(run({0x38, 0x1c}, 100), ok(92));
  EXPECT_EQ(run({}, 100), ok(100));
  EXPECT_EQ(status_of({}), EvaluateStatus::kInvalid);
}

TEST(Expression, KnowsEveryConstant) {
  EXPECT_EQ(run({0x08, 0xff}), ok(255));
  EXPECT_EQ(run({0x09, 0xff}), ok(~0ull));
  EXPECT_EQ(run({0x0a, 0xff, 0xff}), ok(0xffff));
  EXPECT_EQ(run({0x0b, 0xfe, 0xff}), ok(~1ull));
  EXPECT_EQ(run({0x0c, 1, 0, 0, 0x80}), ok(0x80000001));
  EXPECT_EQ(run({0x0d, 1, 0, 0, 0x80}), ok(0xffffffff80000001));
  EXPECT_EQ(run({0x0e, 1, 0, 0, 0, 0, 0, 0, 0x80}), ok(0x8000000000000001));
  EXPECT_EQ(run({0x10, 0x80, 1}), ok(128));
  EXPECT_EQ(run({0x11, 0x7f}), ok(~0ull));
  EXPECT_EQ(run({0x4f}), ok(31));
  EXPECT_EQ(run({0x92, 6, 1}), ok(0x8001));
}

TEST(Expression, Calculates) {
  EXPECT_EQ(run({0x37, 0x33, 0x1c}), ok(4));  // 7 - 3
  EXPECT_EQ(run({0x37, 0x33, 0x1b}), ok(2));  // 7 / 3
  EXPECT_EQ(run({0x37, 0x33, 0x1d}), ok(1));  // 7 mod 3
  EXPECT_EQ(run({0x37, 0x33, 0x1e}), ok(21));
  EXPECT_EQ(run({0x35, 0x33, 0x21}), ok(7));             // 5 or 3
  EXPECT_EQ(run({0x35, 0x33, 0x27}), ok(6));             // 5 xor 3
  EXPECT_EQ(run({0x31, 0x1f}), ok(~0ull));               // -1
  EXPECT_EQ(run({0x30, 0x20}), ok(~0ull));               // not 0
  EXPECT_EQ(run({0x11, 0x7d, 0x19}), ok(3));             // |-3|
  EXPECT_EQ(run({0x11, 0x70, 0x32, 0x26}), ok(~3ull));   // -16 >> 2, with sign
  EXPECT_EQ(run({0x11, 0x7f, 0x08, 60, 0x25}), ok(15));  // without
  EXPECT_EQ(run({0x31, 0x08, 64, 0x24}), ok(0));         // shifted out
}

TEST(Expression, ComparesWithSign) {
  EXPECT_EQ(run({0x11, 0x7f, 0x31, 0x2d}), ok(1));  // -1 < 1
  EXPECT_EQ(run({0x11, 0x7f, 0x31, 0x2b}), ok(0));  // -1 > 1
  EXPECT_EQ(run({0x32, 0x32, 0x29}), ok(1));
  EXPECT_EQ(run({0x32, 0x32, 0x2e}), ok(0));
  EXPECT_EQ(run({0x32, 0x32, 0x2a}), ok(1));
  EXPECT_EQ(run({0x32, 0x32, 0x2c}), ok(1));
}

TEST(Expression, Rearranges) {
  EXPECT_EQ(run({0x35, 0x12, 0x22}), ok(10));          // dup
  EXPECT_EQ(run({0x35, 0x36, 0x13}), ok(5));           // drop
  EXPECT_EQ(run({0x35, 0x36, 0x14}), ok(5));           // over
  EXPECT_EQ(run({0x35, 0x36, 0x37, 0x15, 2}), ok(5));  // pick
  EXPECT_EQ(run({0x35, 0x36, 0x16, 0x1c}), ok(1));     // swap: 6 - 5
  EXPECT_EQ(run({0x35, 0x36, 0x37, 0x17}), ok(6));     // rot: 7 goes below 5 and 6
}

TEST(Expression, Branches) {
  EXPECT_EQ(run({0x35, 0x2f, 1, 0, 0x36}), ok(5));        // skip over lit6
  EXPECT_EQ(run({0x35, 0x31, 0x28, 1, 0, 0x36}), ok(5));  // taken
  EXPECT_EQ(run({0x35, 0x30, 0x28, 1, 0, 0x36}), ok(6));  // not taken
}

TEST(Expression, RefusesWhatMakesNoSense) {
  EXPECT_EQ(status_of({0x22}), EvaluateStatus::kInvalid);              // nothing to add
  EXPECT_EQ(status_of({0x35, 0x15, 1}), EvaluateStatus::kInvalid);     // pick below the bottom
  EXPECT_EQ(status_of({0x35, 0x17}), EvaluateStatus::kInvalid);        // rot of one
  EXPECT_EQ(status_of({0x35, 0x30, 0x1b}), EvaluateStatus::kInvalid);  // division by zero
  EXPECT_EQ(status_of({0x35, 0x30, 0x1d}), EvaluateStatus::kInvalid);
  EXPECT_EQ(status_of({0x0e, 1}), EvaluateStatus::kInvalid);           // cut off
  EXPECT_EQ(status_of({0x03}), EvaluateStatus::kInvalid);              // unknown operation
  EXPECT_EQ(status_of({0x92, 99, 0}), EvaluateStatus::kInvalid);       // no such register
  EXPECT_EQ(status_of({0x2f, 0xfd, 0xff}), EvaluateStatus::kInvalid);  // skip to itself, endlessly
  EXPECT_EQ(status_of({0x2f, 0x00, 0x80}), EvaluateStatus::kInvalid);  // skip before the start
  EXPECT_EQ(status_of({0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31}),
            EvaluateStatus::kInvalid);  // one too many
}

TEST(Expression, SaysWhatIsMissing) {
  EXPECT_EQ(status_of({0x73, 0}), EvaluateStatus::kUnknownRegister);
  EXPECT_EQ(status_of({0x30, 0x06}), EvaluateStatus::kUnreadable);
}

}  // namespace
}  // namespace swipr::unwind
