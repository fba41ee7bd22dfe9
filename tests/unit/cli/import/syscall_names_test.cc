#include "cli/import/syscall_names.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace swipr::importers {
namespace {

#if defined(__aarch64__)
constexpr std::uint64_t kOwnMachine = EM_AARCH64;
#else
constexpr std::uint64_t kOwnMachine = EM_X86_64;
#endif

TEST(SyscallNames, AreThoseOfThisMachine) {
  EXPECT_EQ(syscall_name(kOwnMachine, SYS_ppoll), "ppoll");
  EXPECT_EQ(syscall_name(kOwnMachine, SYS_futex), "futex");
  EXPECT_EQ(syscall_name(kOwnMachine, SYS_clock_nanosleep), "clock_nanosleep");
  EXPECT_EQ(syscall_name(kOwnMachine, SYS_read), "read");
  EXPECT_EQ(syscall_name(kOwnMachine, 123456), "syscall 123456");
}

TEST(SyscallNames, DependOnTheRecordedMachine) {
  EXPECT_EQ(syscall_name(EM_X86_64, 202), "futex");
  EXPECT_EQ(syscall_name(EM_AARCH64, 98), "futex");
  EXPECT_EQ(syscall_name(EM_X86_64, 7), "poll");
  EXPECT_EQ(syscall_name(EM_AARCH64, 7), "syscall 7");
}

TEST(SyscallNames, AreNotGuessedForOtherMachines) {
  EXPECT_EQ(syscall_name(0, 202), "syscall 202");
  EXPECT_EQ(syscall_name(EM_RISCV, 0xFFFFFFFF), "syscall 4294967295");
}

}  // namespace
}  // namespace swipr::importers
