#include "preload/agent/serve/helper_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "preload/agent/base/text/text_view.h"
#include "preload/agent/proc/proc_files.h"
#include "preload/agent/proc/proc_text.h"
#include "preload/machine/raw_syscall.h"

namespace swipr::agent {

namespace {

constexpr std::size_t kStackBytes = 16384;
constexpr int kExitNotStarted = 127;
constexpr unsigned kLastSignal = 64;

// Data for the two new processes, in memory that all three share.
struct Plan {
  PathText program;
  FixedText<256> disposition;
  const char* arguments[8] = {};
  const char* environment[Settings::kMaxHelperVariables + 1] = {};
  int input = -1;
  int client = -1;
  alignas(16) std::byte parent_stack[kStackBytes];
  alignas(16) std::byte helper_stack[kStackBytes];
};

long address_of(const void* pointer) noexcept { return reinterpret_cast<long>(pointer); }

bool is_executable(const TextWriter& path) noexcept {
  return !path.overflowed() && ::access(path.c_str(), X_OK) == 0;
}

// Directory of the file that this code was mapped from, without a slash at its end.
bool find_own_directory(TextWriter& out) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(&find_own_directory);
  LineReader maps("/proc/self/maps");
  std::string_view line;
  while (maps.next(line)) {
    MapsLine mapping;
    if (!parse_maps_line(line, mapping) || here < mapping.start || here >= mapping.end) continue;
    const std::size_t slash = mapping.path.rfind('/');
    if (slash == std::string_view::npos) return false;
    out.append(leading(mapping.path, slash));
    return true;
  }
  return false;
}

// Installed: <prefix>/lib/[<triplet>/]libswipr_preload.so; built: <build>/preload/….
bool find_beside_library(TextWriter& path) noexcept {
  PathText directory;
  if (!find_own_directory(directory)) return false;
  for (std::string_view relative : {"/../bin/swipr", "/../../bin/swipr", "/../cli/swipr"}) {
    path.clear();
    path.append(directory.view()).append(relative);
    if (is_executable(path)) return true;
  }
  return false;
}

bool find_in_path(std::string_view search_path, TextWriter& path) noexcept {
  while (!search_path.empty()) {
    const std::size_t colon = search_path.find(':');
    const std::string_view directory = leading(search_path, colon);
    search_path.remove_prefix(colon == std::string_view::npos ? search_path.size() : colon + 1);
    if (!directory.starts_with('/')) continue;  // the working directory may belong to anybody
    path.clear();
    path.append(directory).append("/swipr");
    if (is_executable(path)) return true;
  }
  return false;
}

const char* format_name(AnswerFormat format) noexcept {
  switch (format) {
    case AnswerFormat::kPerf:
      return "perf";
    case AnswerFormat::kPprof:
      return "pprof";
    case AnswerFormat::kCollapsed:
      return "collapsed";
    case AnswerFormat::kRaw:
      break;
  }
  return "raw";
}

void fill_plan(const Settings& settings, const HelperOptions& options, Plan& plan) noexcept {
  plan.program.append(options.program);
  plan.disposition.append(options.disposition);
  const char* arguments[] = {plan.program.c_str(), "answer",
                             "--format",           format_name(options.format),
                             "--disposition",      plan.disposition.c_str()};
  std::size_t count = 0;
  for (const char* argument : arguments) plan.arguments[count++] = argument;
  for (std::size_t i = 0; i < settings.helper_variable_count; ++i) {
    plan.environment[i] = settings.helper_environment[i].data();
  }
  plan.client = options.client;
}

// Everything below runs in the new processes: same memory, same thread pointer, own descriptors and
// signal dispositions. Nothing here may touch errno.

// Same memory, so until execve the parent waits (CLONE_VFORK).
int run_helper(void* argument) {
  const Plan& plan = *static_cast<const Plan*>(argument);
  const std::uint64_t none = 0;
  // A session of its own: the terminal's and the process group's signals are the program's.
  machine::raw_syscall(SYS_setsid);
  machine::raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, address_of(&none), 0, sizeof none);
  machine::raw_syscall(SYS_execve, address_of(plan.program.c_str()), address_of(plan.arguments),
                       address_of(plan.environment));
  return kExitNotStarted;
}

void close_from_3() noexcept {
  if (machine::raw_syscall(SYS_close_range, 3, 0xffffffffL, 0) == 0) return;
  for (long fd = 3; fd < 1024; ++fd) machine::raw_syscall(SYS_close, fd);
}

// The kernel's struct sigaction; zero: SIG_DFL.
struct KernelAction {
  std::uint64_t handler, flags, restorer, mask;
};

// The intermediate process. It has no exit signal, so no wait() of the program finds it. It must
// not exec, which would set the exit signal. The helper is its child, not the program's.
int run_intermediate(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  machine::raw_syscall(SYS_setpgid, 0,
                       0);  // kill(0, …) and killpg() by the program do not reach it
  machine::raw_syscall(SYS_prctl, PR_SET_NAME, address_of("swipr"));
  machine::raw_syscall(SYS_dup3, plan.input, 0, 0);
  machine::raw_syscall(SYS_dup3, plan.client, 1, 0);
  close_from_3();  // mainly listening sockets, which have to close with the program
  const KernelAction default_action{};
  for (long signal = 1; signal <= kLastSignal; ++signal) {
    machine::raw_syscall(SYS_rt_sigaction, signal, address_of(&default_action), 0, 8);
  }
  const int helper = ::clone(run_helper, plan.helper_stack + kStackBytes,
                             CLONE_VM | CLONE_VFORK | CLONE_UNTRACED | SIGCHLD, &plan);
  if (helper < 0) return kExitNotStarted;
  int status = 0;
  while (machine::raw_syscall(SYS_wait4, helper, address_of(&status), 0) == -EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void* make_plan() noexcept {
  void* memory =
      ::mmap(nullptr, sizeof(Plan), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Plan;
}

}  // namespace

bool find_swipr_program(const Settings& settings, TextWriter& path) noexcept {
  if (!settings.swipr_program.empty()) {
    path.clear();
    path.append(settings.swipr_program);
    return is_executable(path);
  }
  return find_beside_library(path) || find_in_path(settings.search_path, path);
}

const char* start_helper(const Settings& settings, const HelperOptions& options,
                         HelperProcess& out) noexcept {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return "no socket pair";
  auto* plan = static_cast<Plan*>(make_plan());
  if (plan == nullptr) {
    ::close(ends[0]);
    ::close(ends[1]);
    return "no memory for the helper process";
  }
  fill_plan(settings, options, *plan);
  plan->input = ends[1];
  // CLONE_VM: the program's memory, however large, is not copied or made copy-on-write.
  const int pid =
      ::clone(run_intermediate, plan->parent_stack + kStackBytes, CLONE_VM | CLONE_UNTRACED, plan);
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    ::munmap(plan, sizeof(Plan));
    return "no helper process can be started";
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  out = {pid, ends[0], plan};
  return nullptr;
}

HelperState try_reap_helper(HelperProcess& helper) noexcept {
  int status = 0;
  const pid_t got = ::waitpid(helper.pid, &status, static_cast<int>(__WCLONE) | WNOHANG);
  if (got == 0) return HelperState::kRunning;
  if (helper.input >= 0) ::close(helper.input);
  release_helper_memory(helper);
  helper = {};
  // Reaped by a __WALL wait of the program: its result is unknown.
  if (got < 0) return HelperState::kAnswered;
  const bool not_started = WIFEXITED(status) && WEXITSTATUS(status) == kExitNotStarted;
  return not_started ? HelperState::kNotStarted : HelperState::kAnswered;
}

void release_helper_memory(HelperProcess& helper) noexcept {
  auto* const memory = std::exchange(helper.memory, nullptr);  // first: see Connection::destroy
  if (memory != nullptr) ::munmap(memory, sizeof(Plan));
}

}  // namespace swipr::agent
