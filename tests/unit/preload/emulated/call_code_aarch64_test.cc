// Code before and behind system calls, as compilers arrange it.
#include "preload/handler/calls/call_code_aarch64.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "preload/machine/instruction_aarch64.h"

namespace swipr::handler {
namespace {

constexpr std::uint32_t kUnknown = 0xd4200000;  // brk
constexpr std::uint32_t kRet = 0xd65f03c0;
constexpr std::uint32_t kPoll = 0xd2800928;       // mov x8, #73
constexpr std::uint32_t kFromX19 = 0xaa1303e0;    // mov x0, x19
constexpr std::uint32_t kX19FromX0 = 0xaa0003f3;  // mov x19, x0
constexpr std::uint32_t kCompare = 0xb140041f;    // cmn x0, #1, lsl #12

class CallCode : public testing::Test {
 protected:
  CallCode() {
    code_.fill(kUnknown);
    context_.uc_mcontext.regs[19] = 0x1234'5678'9abc;
    context_.uc_mcontext.regs[20] = static_cast<std::uint64_t>(-2) & 0xffff'ffff;
    context_.uc_mcontext.regs[0] = static_cast<std::uint64_t>(-4);
    context_.uc_mcontext.sp = reinterpret_cast<std::uint64_t>(stack_.data());
  }
  // `before` ends in `svc`.
  std::optional<std::uint64_t> argument(std::initializer_list<std::uint32_t> before,
                                        std::initializer_list<std::uint32_t> behind = {kCompare}) {
    code_.fill(kUnknown);
    std::copy(before.begin(), before.end(), code_.begin() + kCall - before.size());
    code_[kCall] = machine::kSvc;
    std::copy(behind.begin(), behind.end(), code_.begin() + kCall + 1);
    context_.uc_mcontext.pc = reinterpret_cast<std::uint64_t>(&code_[kCall + 1]);
    std::uint64_t out = 0;
    return find_first_argument(context_, out) ? std::optional(out) : std::nullopt;
  }
  bool ignores(bool (*what)(std::uint64_t), std::initializer_list<std::uint32_t> behind) {
    argument({kFromX19, kPoll}, behind);
    return what(context_.uc_mcontext.pc);
  }

  static constexpr std::size_t kCall = 40;
  alignas(4096) std::array<std::uint32_t, 1024> code_;
  std::array<std::uint64_t, 4> stack_{11, 0xffff'ffff'8000'0001, 13, 14};
  ucontext_t context_{};
};

TEST_F(CallCode, TellsTheFirstArgument) {
  EXPECT_EQ(argument({kFromX19, kPoll}), 0x1234'5678'9abcu);
  EXPECT_EQ(argument({0x2a1303e0, kPoll}), 0x5678'9abcu);                      // mov w0, w19
  EXPECT_EQ(argument({0x93407e80, kPoll}), static_cast<std::uint64_t>(-2));    // sxtw x0, w20
  EXPECT_EQ(argument({0xd2800060, kPoll}), 3u);                                // mov x0, #3
  EXPECT_EQ(argument({0x92800c60, kPoll}), static_cast<std::uint64_t>(-100));  // mov x0, #-100
  EXPECT_EQ(argument({0x12800c60, kPoll}), 0xffff'ff9cu);                      // mov w0, #-100
  EXPECT_EQ(argument({0xd100c260, kPoll}), 0x1234'5678'9abcu - 0x30);          // sub x0, x19, #48
  EXPECT_EQ(argument({0x910043e0, kPoll}), context_.uc_mcontext.sp + 16);      // add x0, sp, #16
  EXPECT_EQ(argument({0xf94003e0, kPoll}), 11u);                               // ldr x0, [sp]
  EXPECT_EQ(argument({0xb9400be0, kPoll}), 0x8000'0001u);                      // ldr w0, [sp, #8]
  EXPECT_EQ(argument({kFromX19, 0xa9410be1, 0x2a0003e6 ^ (0 ^ 4) << 16, kPoll}),  // ldp; mov w6, w4
            0x1234'5678'9abcu);
}

TEST_F(CallCode, DoesNotTellALostOne) {
  EXPECT_FALSE(argument({kPoll}));                          // nothing before
  EXPECT_FALSE(argument({0x93407c00, kPoll}));              // sxtw x0, w0
  EXPECT_FALSE(argument({0xf9400660, kPoll}));              // ldr x0, [x19, #8]
  EXPECT_FALSE(argument({kFromX19, 0xaa1403f3, kPoll}));    // mov x19, x20 behind it
  EXPECT_FALSE(argument({0xf94003e0, 0xf90003f4, kPoll}));  // str x20, [sp] behind ldr x0, [sp]
  EXPECT_FALSE(argument({kFromX19, 0x97ffffff, kPoll}));    // bl
  EXPECT_FALSE(argument({0xa94003f3, kPoll}));              // ldp x19, x0, [sp]
  // __syscall_cancel_arch of glibc 2.41: mov x8, x1; mov x0, x2 … mov x2, x4 … mov x5, x7.
  EXPECT_FALSE(argument(
      {0xaa0103e8, 0xaa0203e0, 0xaa0303e1, 0xaa0403e2, 0xaa0503e3, 0xaa0603e4, 0xaa0703e5}));
}

TEST_F(CallCode, DoesNotTellIfABranchLeadsBehindIt) {
  const auto with_branch = [&](std::uint32_t word) {
    std::uint64_t out = 0;
    EXPECT_EQ(argument({kFromX19, kPoll}), 0x1234'5678'9abcu);
    code_[kCall - 20] = word;
    return !find_first_argument(context_, out);
  };
  EXPECT_TRUE(with_branch(0x14000000 | 20));        // b to svc
  EXPECT_TRUE(with_branch(0x54000000 | 19 << 5));   // b.eq to mov x8
  EXPECT_TRUE(with_branch(0x34000000 | 21 << 5));   // cbz w0 to what is behind svc
  EXPECT_TRUE(with_branch(0x36000000 | 20 << 5));   // tbz w0, #0
  EXPECT_FALSE(with_branch(0x54000000 | 18 << 5));  // b.eq to mov x0
  EXPECT_FALSE(with_branch(0x14000000 | 22));       // b to the one after
}

TEST_F(CallCode, IgnoresFlagsThatItSets) {
  EXPECT_TRUE(ignores(&ignores_flags, {kCompare}));
  EXPECT_TRUE(ignores(&ignores_flags, {kX19FromX0, kCompare}));
  EXPECT_TRUE(ignores(&ignores_flags, {kRet}));
  EXPECT_TRUE(ignores(&ignores_flags, {kX19FromX0, 0x94000010}));  // bl
  EXPECT_FALSE(ignores(&ignores_flags, {0x54000040, kCompare}));   // b.eq
  EXPECT_FALSE(ignores(&ignores_flags, {0x9a9f17e0, kCompare}));   // cset x0, eq
  EXPECT_FALSE(ignores(&ignores_flags, {kX19FromX0, kUnknown, kCompare}));
}

TEST_F(CallCode, IgnoresScratchThatItDoesNotName) {
  EXPECT_TRUE(ignores(&ignores_scratch, {kCompare, 0x54000068, kX19FromX0, kRet, 0x94000010}));
  // The way of b.hi names x16: mov x1, x16.
  EXPECT_FALSE(
      ignores(&ignores_scratch, {kCompare, 0x54000068, kX19FromX0, kRet, 0xaa1003e1, kRet}));
  EXPECT_FALSE(ignores(&ignores_scratch, {0xf9000bf1, kRet}));  // str x17, [sp, #16]
  EXPECT_FALSE(ignores(&ignores_scratch, {0x14000000}));        // b to itself
}

TEST_F(CallCode, AFunctionThatBranchesToTheCallMakesNoKnownOne) {
  const auto known = [&](std::initializer_list<std::uint32_t> function) {
    std::copy(function.begin(), function.end(), code_.begin());
    return makes_known_call(reinterpret_cast<std::uint64_t>(code_.data()));
  };
  constexpr std::uint32_t kX19FromArgument = 0x93407c13;  // sxtw x19, w0
  constexpr std::uint32_t kIfThreads = 0x34000204;        // cbz w4
  EXPECT_TRUE(known({kX19FromArgument, kIfThreads, kFromX19, kPoll, machine::kSvc}));
  EXPECT_FALSE(known({kX19FromArgument, kIfThreads, kPoll, machine::kSvc}));
  EXPECT_FALSE(known({0x93407c00, 0x14000004, kFromX19, kPoll, machine::kSvc}));  // sxtw x0, w0; b
}

// The C library's code in this process.
std::span<const std::uint32_t> code_of_libc() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0;
    if (line.find("/libc.so.6") == std::string::npos || line.find(" r-xp ") == std::string::npos ||
        std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) {
      continue;
    }
    return {reinterpret_cast<const std::uint32_t*>(begin), (end - begin) / 4};
  }
  return {};
}

// The constant that is moved into x8 shortly before; -1: none.
int number_before(const std::uint32_t* call) {
  for (int back = 1; back < 16; ++back) {
    if ((call[-back] & 0xffe0001f) == 0xd2800008)
      return static_cast<int>(call[-back] >> 5 & 0xffff);
  }
  return -1;
}

TEST_F(CallCode, KnowsTheWaitsOfTheCLibrary) {
  std::set<int> repeated;
  std::set<int> continued;
  const auto code = code_of_libc();
  ASSERT_FALSE(code.empty());
  for (const std::uint32_t& word : code) {
    if (word != machine::kSvc) continue;
    context_.uc_mcontext.pc = reinterpret_cast<std::uint64_t>(&word + 1);
    std::uint64_t out = 0;
    if (!find_first_argument(context_, out) || !ignores_flags(context_.uc_mcontext.pc)) continue;
    repeated.insert(number_before(&word));
    if (ignores_scratch(context_.uc_mcontext.pc)) continued.insert(number_before(&word));
  }
  for (const int number :
       {SYS_ppoll,         SYS_pselect6, SYS_epoll_pwait, SYS_clock_nanosleep, SYS_rt_sigtimedwait,
        SYS_rt_sigsuspend, SYS_msgsnd,   SYS_msgrcv,      SYS_mq_timedsend,    SYS_mq_timedreceive,
        SYS_read,          SYS_readv,    SYS_recvfrom,    SYS_recvmsg,         SYS_recvmmsg,
        SYS_write,         SYS_writev,   SYS_sendto,      SYS_sendmsg,         SYS_accept,
        SYS_accept4,       SYS_connect,  SYS_futex}) {
    EXPECT_TRUE(repeated.contains(number)) << number;
  }
  for (const int number :
       {SYS_read, SYS_write, SYS_sendto, SYS_recvfrom, SYS_getrandom, SYS_copy_file_range}) {
    EXPECT_TRUE(continued.contains(number)) << number;
  }
}

}  // namespace
}  // namespace swipr::handler
