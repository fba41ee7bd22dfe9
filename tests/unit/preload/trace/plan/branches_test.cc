#include "preload/trace/plan/branches.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace swipr::trace {
namespace {

using Bytes = std::vector<std::uint8_t>;

// A module of 4 KiB: code up to kData, then tables.
class BranchTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kModule = 0x400000;
  static constexpr std::size_t kFunction = 1024;
  static constexpr std::size_t kData = 2048;

  BranchTest() : module_(4096, 0x90) {}
  void put(std::size_t at, const Bytes& bytes) {
    std::memcpy(module_.data() + at, bytes.data(), bytes.size());
  }
  template <typename Value>
  void put_value(std::size_t at, Value value) {
    std::memcpy(module_.data() + at, &value, sizeof value);
  }
  // `opcode` and the distance to `target` in its last four bytes.
  void put_branch(std::size_t at, Bytes opcode, std::size_t target) {
    put(at, opcode);
    put_value(at + opcode.size(), static_cast<std::int32_t>(target) -
                                      static_cast<std::int32_t>(at + opcode.size() + 4));
  }
  Function function(std::size_t at, std::size_t bytes) {
    return {kModule + at, std::span(module_).subspan(at, bytes)};
  }
  Plan planned(std::size_t bytes) {
    Plan plan;
    EXPECT_EQ(make_plan(function(kFunction, bytes), plan), Refusal::kNone);
    return plan;
  }
  Refusal far(const Plan& plan) { return check_far_branches(module_, kModule, plan); }
  Refusal tables(std::size_t bytes) {
    return check_jump_tables(function(kFunction, bytes), planned(bytes), {kModule, kModule + kData},
                             {&read, this});
  }

  std::vector<std::uint8_t> module_;

 private:
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept {
    const auto& module = static_cast<BranchTest*>(state)->module_;
    if (address < kModule || address - kModule > module.size() ||
        out.size() > module.size() - (address - kModule)) {
      return false;
    }
    std::memcpy(out.data(), module.data() + (address - kModule), out.size());
    return true;
  }
};

const Bytes kPlain = {0x31, 0xc0, 0xff, 0xc0, 0x85, 0xc0, 0xc3};  // boundaries at 2, 4, 6

TEST_F(BranchTest, FarBranchesIntoThePatchAreFound) {
  put(kFunction, kPlain);
  const Plan plan = planned(kPlain.size());
  EXPECT_EQ(far(plan), Refusal::kNone);
  for (const Bytes& opcode : {Bytes{0xe9}, Bytes{0xe8}, Bytes{0x0f, 0x84}, Bytes{0x0f, 0x8f}}) {
    for (const std::size_t place : {std::size_t{1}, std::size_t{2000}, std::size_t{4096} - 6}) {
      put_branch(place, opcode, kFunction + 2);
      EXPECT_EQ(far(plan), Refusal::kOutsideBranch);
      put_branch(place, opcode, kFunction);  // a call, or a tail call
      EXPECT_EQ(far(plan), Refusal::kNone);
      put_branch(place, opcode, kFunction + 5);  // behind it
      EXPECT_EQ(far(plan), Refusal::kNone);
      put(place, Bytes(6, 0x90));
    }
  }
}

TEST_F(BranchTest, ShortBranchesOfNeighboursAreFound) {
  put(kFunction, kPlain);
  const Plan plan = planned(kPlain.size());
  put(kFunction - 32, {0x31, 0xc0, 0x75, 30, 0xc3});  // jne to kFunction + 2
  EXPECT_EQ(check_neighbour(function(kFunction - 32, 5), plan), Refusal::kOutsideBranch);
  put(kFunction - 32, {0x31, 0xc0, 0x75, 28, 0xc3});  // to kFunction
  EXPECT_EQ(check_neighbour(function(kFunction - 32, 5), plan), Refusal::kNone);
}

TEST_F(BranchTest, TablesOfDistancesAreFollowed) {
  // push %rbp; lea table(%rip),%rdx; jmp *%rax
  put(kFunction, {0x55});
  put_branch(kFunction + 1, {0x48, 0x8d, 0x15}, kData);
  put(kFunction + 8, {0xff, 0xe0, 0xc3});
  const auto entry = [&](std::size_t index, std::size_t target) {
    put_value(kData + 4 * index,
              static_cast<std::int32_t>(target) - static_cast<std::int32_t>(kData));
  };
  for (std::size_t index = 0; index < 200; ++index) entry(index, kFunction + 10);
  put_value(kData + 800, std::int32_t{0x7fffffff});
  EXPECT_EQ(tables(11), Refusal::kNone);
  entry(150, kFunction + 1);  // where the patch begins, as a loop may
  EXPECT_EQ(tables(11), Refusal::kJumpTableInto);
  entry(150, kFunction + 5);
  EXPECT_EQ(tables(11), Refusal::kJumpTableInto);
  entry(150, kFunction + 6);
  EXPECT_EQ(tables(11), Refusal::kNone);
}

TEST_F(BranchTest, TablesOfAddressesAreFollowed) {
  put(kFunction, {0x55, 0xff, 0x24, 0xc5});  // push %rbp; jmp *table(,%rax,8)
  put_value(kFunction + 4, static_cast<std::int32_t>(kModule + kData));
  put(kFunction + 8, {0x31, 0xc0, 0xc3});
  put_value(kData, kModule + kFunction + 8);
  put_value(kData + 8, kModule + kFunction + 1);
  put_value(kData + 16, std::uint64_t{0});
  EXPECT_EQ(tables(11), Refusal::kJumpTableInto);
  put_value(kData + 8, kModule + kFunction + 10);
  EXPECT_EQ(tables(11), Refusal::kNone);
}

TEST_F(BranchTest, AFunctionWithoutIndirectJumpNeedsNoTable) {
  put_branch(kFunction, {0x48, 0x8d, 0x15}, kData);
  put(kFunction + 7, {0xc3});
  put_value(kData, static_cast<std::int32_t>(kFunction) - static_cast<std::int32_t>(kData));
  EXPECT_EQ(tables(8), Refusal::kNone);
}

TEST(FunctionEntries, CallsAndJumpsAreTold) {
  constexpr std::uint64_t kAddress = 0x1000;
  constexpr std::uint64_t kEntered = 0x1040;
  // call 0x1040; jne 0x1040; jmp 0x1040
  const std::uint8_t code[] = {0xe8, 0x3b, 0, 0, 0, 0x0f, 0x85, 0x35, 0, 0, 0, 0xe9, 0x30, 0, 0, 0};
  const auto entries = [&](std::size_t begin, std::size_t end) {
    Entries found;
    find_entries(std::span(code).subspan(begin, end - begin), kAddress + begin, kEntered, found);
    return found;
  };
  EXPECT_TRUE(entries(0, 16).are_calls && entries(0, 16).are_jumps);
  EXPECT_TRUE(entries(0, 5).are_calls && !entries(0, 5).are_jumps);
  EXPECT_TRUE(!entries(5, 11).are_calls && entries(5, 11).are_jumps);
  EXPECT_TRUE(!entries(11, 16).are_calls && entries(11, 16).are_jumps);
  EXPECT_TRUE(!entries(12, 16).are_calls && !entries(12, 16).are_jumps);
}

}  // namespace
}  // namespace swipr::trace
