#include "preload/agent/control_thread.h"

#include <link.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "common/core/errno_saver.h"
#include "preload/agent/base/clock.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/log.h"
#include "preload/agent/engine/recorder.h"
#include "preload/agent/guest/gates/gates.h"
#include "preload/agent/guest/gates/start_gate.h"
#include "preload/agent/guest/libc_family.h"
#include "preload/agent/guest/own_descriptors.h"
#include "preload/agent/guest/published_socket.h"
#include "preload/agent/guest/thread_count.h"
#include "preload/agent/guest/thread_sanitizer.h"
#include "preload/agent/proc/proc_directory.h"
#include "preload/agent/serve/server.h"
#include "preload/handler/signals/disposition.h"
#include "preload/trace/gate/gate.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kStackBytes = std::max(std::size_t{65536}, unwind::kLeastStackBytes);
constexpr std::size_t kMaxSocketPathBytes = 108;  // sizeof sun_path

// Constructed at start. Not a global with a destructor: the control thread would outlive it.
alignas(Server) std::byte server_memory[sizeof(Server)];
Server* server = nullptr;
Settings settings;
std::size_t stack_bytes = kStackBytes;
std::atomic<bool> ended_for_good{false};

int add_thread_local_bytes(dl_phdr_info* info, std::size_t, void* total) {
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_TLS) {
      *static_cast<std::size_t*>(total) += segment.p_memsz + segment.p_align;
    }
  }
  return 0;
}

// glibc takes the program's thread-local variables out of a thread's stack.
std::size_t wanted_stack_bytes() noexcept {
  constexpr std::size_t kPage = 4096;
  std::size_t thread_local_bytes = 0;
  ::dl_iterate_phdr(add_thread_local_bytes, &thread_local_bytes);
  return kStackBytes + (thread_local_bytes + kPage - 1) / kPage * kPage;
}

// After entering a user namespace the process's uid may be another number, but the socket must
// remain in its folder.
void keep_socket_directory() noexcept {
  static char directory[kMaxSocketPathBytes];
  const std::string_view path = server->socket_path();
  const std::size_t size = path.rfind('/');
  if (size >= sizeof(directory)) return;       // or there is none: npos
  std::memmove(directory, path.data(), size);  // the text may be the same already
  directory[size] = '\0';
  settings.socket_directory = {directory, size};
}

void give_up(std::string_view reason) noexcept {
  log_from_program(LogLevel::kError, "not recordable", reason);
  control_presence::set_absent();
  start_gate::open();
}

// Makes the control thread wake up in time even if a thread of the program has the CPU: the
// scheduler gives the CPU to a thread with a shorter slice at once, without a larger share of CPU
// time. Since Linux 6.12; older kernels ignore it. Not done below a seccomp filter or in another
// scheduling class.
// Source: sched_setattr(2), linux/sched/types.h; kernel/sched/fair.c, PREEMPT_SHORT.
void ask_for_a_short_slice() noexcept {
  struct {
    std::uint32_t size = 0;
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
  } attributes;
  if (::prctl(PR_GET_SECCOMP) != 0) return;  // filters of services may kill the process for it
  constexpr std::uint64_t kShortestSliceNs = 100'000;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime_ns = kShortestSliceNs;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void serve(bool forked) noexcept {
  if (!take_own_descriptors()) {
    return give_up("the kernel or a seccomp filter refuses a descriptor table for swipr's thread");
  }
  control_presence::open();
  recorder().open_before_privileges_go();
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  ask_for_a_short_slice();
  server->run(settings, ::getpid(), forked);
  for (;;) {
    if (thread_count::is_last()) return;
    keep_socket_directory();
    thread_sanitizer::release();
    if (park_gate::end()) return;
    server->reset_after_fork();
    server->run(settings, ::getpid(), false);
  }
}

void* run_control_thread(void* forked) {
  ::prctl(PR_SET_NAME, "swipr");
  if (!thread_count::leave()) {
    give_up("libc does not expose its count of threads");  // with the program's descriptors still,
                                                           // which the end of the process may need
    return nullptr;
  }
  serve(forked != nullptr);
  thread_count::come_back();
  return nullptr;
}

void start_thread(bool forked) noexcept {
  start_gate::close();
  control_presence::set_owner(::getpid());
  recorder().set_owner(::getpid());
  // The child of a fork usually execs at once: its file is created later, and the child does not
  // wait for it.
  const bool waits = !settings.rendezvous.empty() || (!forked && !settings.record_path.empty());
  // The new thread inherits the mask, so it never runs with signals unblocked. libc's own two
  // signals stay unblocked: setuid() in the program waits for an answer of every thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  if (waits) start_gate::enter();
  const int error = libc::start_thread(run_control_thread, forked ? server : nullptr, stack_bytes);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    control_presence::set_absent();
    return log_from_program(LogLevel::kError, "not recordable: cannot start a thread", {}, error);
  }
  if (waits) start_gate::wait();
}

void start_again(bool forked) noexcept {
  recorder().reset_after_fork();
  reset_gates();
  server->reset_after_fork();
  unpublish_socket();
  forget_proc_directory();
  start_thread(forked);
}

// TSan's runtime terminates a child that starts a thread if there were several at the fork.
bool child_may_start_threads = true;

// /proc/self/task has 2 + n links (kernel, fs/proc/base.c, proc_task_getattr). TSan has a thread of
// its own, which it does not count.
bool program_has_one_thread() noexcept {
  struct stat status {};
  const nlink_t others = thread_sanitizer::is_present() ? 2 : 1;
  return libc::stat("/proc/self/task", &status) == 0 && status.st_nlink == 2 + 1 + others;
}

void on_fork() {
  if (thread_sanitizer::is_present() && !ended_for_good.load()) {
    child_may_start_threads = park_control_thread();
  }
  trace::before_fork();
}

void on_fork_parent() {
  trace::after_fork_in_parent();
  if (thread_sanitizer::is_present() && child_may_start_threads && !ended_for_good.load())
    resume_control_thread();
}

// The child has only this thread. Its memory was copied while the control thread may have been
// running, so none of the control thread's state is used.
void on_fork_child() {
  const ErrnoSaver errno_saver;
  trace::after_fork_in_child();
  if (ended_for_good.load()) return;
  if (child_may_start_threads) return start_again(true);
  ended_for_good.store(true);
  recorder().reset_after_fork();
  reset_gates();
  log_from_program(
      LogLevel::kWarning,
      "not recordable: TSan kills the child of a multi-threaded process that starts a thread");
}

// What the kernel checks when a thread changes its ids. False: unknown.
bool read_capabilities(pid_t thread, __user_cap_data_struct (&data)[2]) noexcept {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = thread};
  return ::syscall(SYS_capget, &header, data) == 0;
}

bool has_other_rights(pid_t thread) noexcept {
  __user_cap_data_struct own[2];
  __user_cap_data_struct others[2];
  return read_capabilities(0, own) && read_capabilities(thread, others) &&
         std::memcmp(own, others, sizeof own) != 0;
}

}  // namespace

void start_control_thread(const Settings& wanted) noexcept {
  const ErrnoSaver errno_saver;
  settings = wanted;
  find_vdso_clock();
  server = new (server_memory) Server;
  if (!settings.signal_free) recorder().forgo_signal_free_looks();
  if (!settings.runtimes) recorder().forgo_runtimes();
  recorder().choose_unwinder(settings.unwinder);
  if (!settings.unknown_unwinder.empty()) {
    log_from_program(LogLevel::kWarning, "SWIPR_UNWINDER is not swipr, libunwind or compare",
                     settings.unknown_unwinder);
  }
  recorder().set_table_place(settings.cache_home, settings.home);
  if (settings.signal_number != 0) recorder().set_signal_number(settings.signal_number);
  stack_bytes = wanted_stack_bytes();
  thread_count::find();
  thread_sanitizer::find();
  call_at_fork(on_fork, on_fork_parent, on_fork_child);
  start_thread(false);
}

bool park_control_thread() noexcept {
  const ErrnoSaver errno_saver;
  if (!program_has_one_thread() || !park_gate::ask(park_gate::WhenLate::kStays)) {
    return false;
  }
  thread_sanitizer::acquire();
  return true;
}

bool park_control_thread_of_other_rights() noexcept {
  const ErrnoSaver errno_saver;
  const pid_t thread = control_presence::control_tid();
  if (thread == 0) return false;
  // A worker process of root that drops its privileges could not create its socket file any more.
  if (::geteuid() == 0) socket_files::await();
  if (!has_other_rights(thread) || !park_gate::ask(park_gate::WhenLate::kStays)) {
    return false;
  }
  thread_sanitizer::acquire();
  return true;
}

void resume_control_thread() noexcept {
  const ErrnoSaver errno_saver;
  ended_for_good.store(false);
  start_again(false);
}

void follow_change_of_rights(const follow_gate::SystemCall& call) noexcept {
  const ErrnoSaver errno_saver;
  if (!ended_for_good.load() && program_has_one_thread()) follow_gate::ask(call);
}

bool end_control_thread() noexcept {
  const ErrnoSaver errno_saver;
  if (ended_for_good.exchange(true)) return false;
  const bool parked = park_gate::ask(park_gate::WhenLate::kGoes);
  recorder().set_owner(0);
  return parked;
}

void finish_before_exit() noexcept {
  const ErrnoSaver errno_saver;
  if (!ended_for_good.load()) exit_gate::pass();
}

void flush_before_exec() noexcept {
  const ErrnoSaver errno_saver;
  if (!ended_for_good.load()) {
    flush_gate::ask();
    socket_files::leave();
  }
  handler::prepare_for_exec();
}

void resume_after_exec() noexcept {
  const ErrnoSaver errno_saver;
  handler::resume_after_exec();
  if (!ended_for_good.load()) socket_files::return_after_exec();
}

}  // namespace swipr::agent
