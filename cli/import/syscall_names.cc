#include "cli/import/syscall_names.h"

#include <elf.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace swipr::importers {

namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFu;  // the machine does not have it

// Source: kernel, arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h,
// which aarch64 uses.
struct Entry {
  std::string_view name;
  std::uint32_t x86_64;
  std::uint32_t aarch64;
};

constexpr auto kEntries = std::to_array<Entry>({
    {"accept", 43, 202},
    {"accept4", 288, 242},
    {"brk", 12, 214},
    {"clock_nanosleep", 230, 115},
    {"clone", 56, 220},
    {"clone3", 435, 435},
    {"close", 3, 57},
    {"connect", 42, 203},
    {"copy_file_range", 326, 285},
    {"epoll_pwait", 281, 22},
    {"epoll_pwait2", 441, 441},
    {"epoll_wait", 232, kNone},
    {"execve", 59, 221},
    {"exit_group", 231, 94},
    {"fallocate", 285, 47},
    {"fcntl", 72, 25},
    {"fdatasync", 75, 83},
    {"flock", 73, 32},
    {"fork", 57, kNone},
    {"fstat", 5, 80},
    {"fsync", 74, 82},
    {"ftruncate", 77, 46},
    {"futex", 202, 98},
    {"futex_waitv", 449, 449},
    {"getdents64", 217, 61},
    {"inotify_add_watch", 254, 27},
    {"io_getevents", 208, 4},
    {"io_pgetevents", 333, 292},
    {"io_uring_enter", 426, 426},
    {"ioctl", 16, 29},
    {"lseek", 8, 62},
    {"lstat", 6, kNone},
    {"madvise", 28, 233},
    {"mkdir", 83, kNone},
    {"mmap", 9, 222},
    {"mprotect", 10, 226},
    {"mq_timedreceive", 243, 183},
    {"mq_timedsend", 242, 182},
    {"msgrcv", 70, 188},
    {"msgsnd", 69, 189},
    {"msync", 26, 227},
    {"munmap", 11, 215},
    {"nanosleep", 35, 101},
    {"newfstatat", 262, 79},
    {"open", 2, kNone},
    {"openat", 257, 56},
    {"openat2", 437, 437},
    {"pause", 34, kNone},
    {"poll", 7, kNone},
    {"ppoll", 271, 73},
    {"pread64", 17, 67},
    {"preadv", 295, 69},
    {"process_vm_readv", 310, 270},
    {"process_vm_writev", 311, 271},
    {"pselect6", 270, 72},
    {"ptrace", 101, 117},
    {"pwrite64", 18, 68},
    {"pwritev", 296, 70},
    {"read", 0, 63},
    {"readv", 19, 65},
    {"recvfrom", 45, 207},
    {"recvmmsg", 299, 243},
    {"recvmsg", 47, 212},
    {"rename", 82, kNone},
    {"renameat2", 316, 276},
    {"restart_syscall", 219, 128},
    {"rmdir", 84, kNone},
    {"rt_sigreturn", 15, 139},
    {"rt_sigsuspend", 130, 133},
    {"rt_sigtimedwait", 128, 137},
    {"sched_yield", 24, 124},
    {"select", 23, kNone},
    {"semop", 65, 193},
    {"semtimedop", 220, 192},
    {"sendfile", 40, 71},
    {"sendmmsg", 307, 269},
    {"sendmsg", 46, 211},
    {"sendto", 44, 206},
    {"shutdown", 48, 210},
    {"splice", 275, 76},
    {"stat", 4, kNone},
    {"statx", 332, 291},
    {"sync", 162, 81},
    {"sync_file_range", 277, 84},
    {"syncfs", 306, 267},
    {"tee", 276, 77},
    {"unlink", 87, kNone},
    {"unlinkat", 263, 35},
    {"vfork", 58, kNone},
    {"vmsplice", 278, 75},
    {"wait4", 61, 260},
    {"waitid", 247, 95},
    {"write", 1, 64},
    {"writev", 20, 66},
});

std::uint32_t number_of(const Entry& entry, std::uint64_t machine) {
  if (machine == EM_X86_64) return entry.x86_64;
  return machine == EM_AARCH64 ? entry.aarch64 : kNone;
}

}  // namespace

std::string syscall_name(std::uint64_t machine, std::uint64_t number) {
  for (const Entry& entry : kEntries) {
    if (number != kNone && number_of(entry, machine) == number) return std::string(entry.name);
  }
  return fmt::format("syscall {}", number);
}

}  // namespace swipr::importers
