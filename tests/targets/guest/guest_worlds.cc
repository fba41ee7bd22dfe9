// guest_worlds [refuse_unshare | refuse_close_range] WAY: a program that enters namespaces, changes
// its root or confines itself, and prints the results. The output is the same with and without
// swipr.
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

#include "tests/targets/older_libc.h"
#include "tests/targets/target.h"

namespace {

constexpr int kNewUser = CLONE_NEWUSER;
constexpr std::int64_t kWorkNs = 60'000'000;

// How many chunks that took.
long work() {
  const std::int64_t until = target::thread_cpu_ns() + kWorkNs;
  std::uint64_t seed = 1;
  long chunks = 0;
  for (; target::thread_cpu_ns() < until; ++chunks) seed = target::churn(seed, target::kChunk);
  return chunks;
}

void tell(const char* what, long result) {
  std::printf("%s: %ld %s\n", what, result, result == 0 ? "" : std::strerror(errno));
  std::fflush(stdout);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void unshare_user() {
  errno = ELOOP;
  const int result = unshare(kNewUser);
  const bool is_kept = errno == ELOOP;
  tell("unshare", result);
  std::printf("errno kept: %d\n", is_kept);
  work();
  tell("fork", wait_for(fork() == 0 ? (_exit(0), 0) : -1));
}

void unshare_user_when_told() {
  char line[16];
  std::puts("ready");
  std::fflush(stdout);
  if (target::read_line(line, sizeof line)) tell("unshare", unshare(kNewUser));
}

void unshare_user_by_number() { tell("unshare", syscall(SYS_unshare, kNewUser)); }

void unshare_user_and_pid() {
  tell("unshare", unshare(kNewUser | CLONE_NEWPID));
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::printf("child is %d\n", getpid());
    std::fflush(stdout);
    _exit(3);
  }
  tell("child", WEXITSTATUS(wait_for(child)));
}

void unshare_threads() {
  tell("CLONE_THREAD", unshare(CLONE_THREAD));
  tell("CLONE_SIGHAND", unshare(CLONE_SIGHAND));
  tell("CLONE_VM", unshare(CLONE_VM));
}

// Refused with swipr because it is refused without.
void unshare_with_threads() {
  std::atomic<bool> end{false};
  std::atomic<pid_t> tid{0};
  std::thread other([&] {
    tid = gettid();
    while (!end.load()) usleep(1000);
  });
  tell("unshare", unshare(kNewUser));
  end = true;
  other.join();  // returns before the kernel has taken the thread off
  const std::string folder = "/proc/self/task/" + std::to_string(tid);
  while (access(folder.c_str(), F_OK) == 0) std::this_thread::yield();
  tell("unshare", unshare(kNewUser));
  work();
}

// Into the namespaces of a child that made its own.
void enter(bool by_number) {
  int to_child[2];
  int to_parent[2];
  if (pipe(to_child) != 0 || pipe(to_parent) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    char byte = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 'y' : 'n';
    if (write(to_parent[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char made = 0;
  if (read(to_parent[0], &made, 1) != 1) return;
  std::printf("made: %c\n", made);
  for (const char* kind : {"user", "mnt"}) {
    const std::string path = "/proc/" + std::to_string(child) + "/ns/" + kind;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    tell(kind, by_number ? syscall(SYS_setns, fd, 0) : setns(fd, 0));
    work();
  }
  if (write(to_child[1], "x", 1) == 1) tell("child", wait_for(child));
}

void enter_mount_namespace_only() {
  const int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  tell("setns", setns(fd, CLONE_NEWNS));
  work();
}

void leave_root() {
  target::say("ready");
  char line[8];
  target::read_line(line, sizeof(line));
  tell("mkdir", mkdir("empty", 0755));
  tell("chroot", chroot("empty"));
  tell("chdir", chdir("/"));
  target::say("moved");
}

// Everything but the handful of calls that it makes itself ends the program.
constexpr unsigned kAllowed[] = {SYS_write, SYS_exit_group, SYS_exit, SYS_rt_sigreturn,
                                 SYS_clock_gettime};

enum class Call : std::uint8_t { kPrctl, kPrctlByNumber, kSeccomp };

bool confine(bool every_thread, Call by) {
  sock_filter code[4 + 2 * std::size(kAllowed)];
  std::size_t at = 0;
  code[at++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (unsigned number : kAllowed) {
    code[at++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    code[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  code[at++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  sock_fprog program{static_cast<unsigned short>(at), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (by == Call::kPrctl) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
  if (by == Call::kPrctlByNumber) {
    return syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
  }
  const unsigned flags = every_thread ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

void confined(bool every_thread, Call by) {
  work();
  const char* answer = confine(every_thread, by) ? "confined\n" : "not confined\n";
  work();  // reads the thread's clock, nothing else
  if (write(STDOUT_FILENO, answer, std::strlen(answer)) < 0) _exit(1);
  _exit(7);
}

// Only read, write, exit and rt_sigreturn are allowed; even clocks cannot be read.
void confined_strictly(Call by) {
  const long chunks = work();
  const long result = by == Call::kPrctl
                          ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
                          : syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, nullptr);
  std::uint64_t seed = 1;
  for (long chunk = 0; chunk < chunks; ++chunk) seed = target::churn(seed, target::kChunk);
  const char* answer = result == 0 && seed != 0 ? "confined\n" : "not confined\n";
  syscall(SYS_exit, write(STDOUT_FILENO, answer, std::strlen(answer)) < 0 ? 1 : 7);
}

// Its output, and a file that it has from who started it.
void close_files() {
  target::say("ready");
  char line[8];
  target::read_line(line, sizeof(line));
  close(STDOUT_FILENO);
  close(STDERR_FILENO + 1);
}

// As in default containers (unshare is refused), or on a kernel without the call.
bool refuse(unsigned number, unsigned error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{std::size(code), code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// Without a filter: whether the kernel knows them.
void ask_for_filters() {
  work();
  tell("prctl", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0));
  tell("prctl by number", syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0));
  tell("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr));
  work();
}

// Only asked for: nothing happens.
void probe_filters() {
  ask_for_filters();
  sock_fprog empty{0, nullptr};
  tell("empty", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &empty, 0, 0));
  target::say("moved");
}

// Other threads do not prevent a filter for all of them.
void confined_threads() {
  std::atomic<bool> end{false};
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      while (!end.load()) work();
    }).detach();
  }
  confined(true, Call::kSeccomp);
}

// As setpriv does, which changes its capabilities between the users and the groups.
void change_identity() {
  constexpr gid_t kNobody = 65534;
  work();
  tell("keep", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
  tell("uid", setresuid(kNobody, kNobody, kNobody));
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  tell("capget", syscall(SYS_capget, &header, data));
  data[0].effective = data[0].permitted;
  data[1].effective = data[1].permitted;
  tell("capset", syscall(SYS_capset, &header, data));
  work();
  tell("gid", setresgid(kNobody, kNobody, kNobody));
  tell("groups", setgroups(0, nullptr));
  work();
}

struct Way {
  std::string_view name;
  void (*run)();
};

constexpr Way kWays[] = {
    {"unshare_user", unshare_user},
    {"unshare_user_by_number", unshare_user_by_number},
    {"unshare_user_when_told", unshare_user_when_told},
    {"unshare_user_and_pid", unshare_user_and_pid},
    {"unshare_threads", unshare_threads},
    {"unshare_with_threads", unshare_with_threads},
    {"enter", [] { enter(false); }},
    {"enter_by_number", [] { enter(true); }},
    {"enter_mount_namespace_only", enter_mount_namespace_only},
    {"leave_root", leave_root},
    {"close_files", close_files},
    {"change_identity", change_identity},
    {"ask_for_filters", ask_for_filters},
    {"probe_filters", probe_filters},
    {"confined_by_prctl", [] { confined(false, Call::kPrctl); }},
    {"confined_by_prctl_number", [] { confined(false, Call::kPrctlByNumber); }},
    {"confined_by_seccomp", [] { confined(false, Call::kSeccomp); }},
    {"confined_strictly_by_prctl", [] { confined_strictly(Call::kPrctl); }},
    {"confined_strictly_by_seccomp", [] { confined_strictly(Call::kSeccomp); }},
    {"confined_threads", confined_threads},
};

}  // namespace

TARGET_FRAME std::uint64_t moved_hot(std::uint64_t seed) {
  return target::churn(seed, target::kChunk) + 1;
}

int main(int argc, char** argv) {
  if (argc == 3) {
    const bool unshare = std::string_view(argv[1]) == "refuse_unshare";
    const bool refused = unshare ? refuse(SYS_unshare, EPERM) : refuse(SYS_close_range, ENOSYS);
    return refused ? execv("/proc/self/exe", argv + 1) : 1;
  }
  if (argc != 2) return 2;
  for (const Way& way : kWays) {
    if (way.name != argv[1]) continue;
    way.run();
    // Until its standard input ends it works where it is now.
    std::uint64_t seed = 1;
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    for (char byte = 0; read(STDIN_FILENO, &byte, 1) != 0;) seed = moved_hot(seed);
    return seed == 0 ? 1 : 0;
  }
  return 2;
}
