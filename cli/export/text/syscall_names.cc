#include "cli/export/text/syscall_names.h"

#include <sys/syscall.h>

#include <array>

namespace swipr::exporters {

namespace {
struct Entry {
  std::uint32_t number;
  std::string_view name;
};

// Numbers of the architecture of this build, which is that of the recording.
constexpr auto kEntries = std::to_array<Entry>({
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_brk, "brk"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_clone, "clone"},
    {SYS_clone3, "clone3"},
    {SYS_close, "close"},
    {SYS_connect, "connect"},
    {SYS_copy_file_range, "copy_file_range"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_epoll_pwait2, "epoll_pwait2"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_execve, "execve"},
    {SYS_exit_group, "exit_group"},
    {SYS_fallocate, "fallocate"},
    {SYS_fcntl, "fcntl"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_fork, "fork"},
    {SYS_fstat, "fstat"},
    {SYS_fsync, "fsync"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_futex, "futex"},
    {SYS_futex_waitv, "futex_waitv"},
    {SYS_getdents64, "getdents64"},
    {SYS_inotify_add_watch, "inotify_add_watch"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_io_pgetevents, "io_pgetevents"},
    {SYS_io_uring_enter, "io_uring_enter"},
    {SYS_ioctl, "ioctl"},
    {SYS_lseek, "lseek"},
    {SYS_lstat, "lstat"},
    {SYS_madvise, "madvise"},
    {SYS_mkdir, "mkdir"},
    {SYS_mmap, "mmap"},
    {SYS_mprotect, "mprotect"},
    {SYS_mq_timedreceive, "mq_timedreceive"},
    {SYS_mq_timedsend, "mq_timedsend"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_msgsnd, "msgsnd"},
    {SYS_msync, "msync"},
    {SYS_munmap, "munmap"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_newfstatat, "newfstatat"},
    {SYS_open, "open"},
    {SYS_openat, "openat"},
    {SYS_openat2, "openat2"},
    {SYS_pause, "pause"},
    {SYS_poll, "poll"},
    {SYS_ppoll, "ppoll"},
    {SYS_pread64, "pread64"},
    {SYS_preadv, "preadv"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_pselect6, "pselect6"},
    {SYS_ptrace, "ptrace"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_pwritev, "pwritev"},
    {SYS_read, "read"},
    {SYS_readv, "readv"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmmsg, "recvmmsg"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_rename, "rename"},
    {SYS_renameat2, "renameat2"},
    {SYS_restart_syscall, "restart_syscall"},
    {SYS_rmdir, "rmdir"},
    {SYS_rt_sigreturn, "rt_sigreturn"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_sched_yield, "sched_yield"},
    {SYS_select, "select"},
    {SYS_semop, "semop"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_sendfile, "sendfile"},
    {SYS_sendmmsg, "sendmmsg"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_sendto, "sendto"},
    {SYS_shutdown, "shutdown"},
    {SYS_splice, "splice"},
    {SYS_stat, "stat"},
    {SYS_statx, "statx"},
    {SYS_sync, "sync"},
    {SYS_sync_file_range, "sync_file_range"},
    {SYS_syncfs, "syncfs"},
    {SYS_tee, "tee"},
    {SYS_unlink, "unlink"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_vfork, "vfork"},
    {SYS_vmsplice, "vmsplice"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
});
}  // namespace

std::string_view find_syscall_name(std::uint32_t number) {
  for (const Entry& entry : kEntries) {
    if (entry.number == number) return entry.name;
  }
  return {};
}

}  // namespace swipr::exporters
