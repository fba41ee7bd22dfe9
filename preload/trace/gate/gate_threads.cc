#include "preload/trace/gate/gate_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "preload/machine/raw_syscall.h"
#include "preload/trace/gate/fork_lock.h"
#include "preload/trace/gate/gate.h"

namespace swipr::trace {

namespace {

using machine::raw_syscall;

constexpr std::uint64_t kMostStackBytes = 256 << 10;

// /proc/self/task/TID/NAME
class TaskPath {
 public:
  TaskPath(std::int32_t tid, const char* name) noexcept {
    put("/proc/self/task/");
    char digits[12];
    unsigned count = 0;
    for (auto rest = static_cast<std::uint32_t>(tid); rest != 0 || count == 0; rest /= 10) {
      digits[count++] = static_cast<char>('0' + rest % 10);
    }
    while (count != 0) text_[size_++] = digits[--count];
    put("/");
    put(name);
    text_[size_] = '\0';
  }
  const char* text() const noexcept { return text_; }

 private:
  void put(const char* part) noexcept {
    while (*part != '\0') text_[size_++] = *part++;
  }
  char text_[64];
  unsigned size_ = 0;
};

// The bytes read; negative: -errno.
long read_task_file(std::int32_t tid, const char* name, char* buffer, long bytes) noexcept {
  const TaskPath path(tid, name);
  const long file =
      raw_syscall(SYS_openat, AT_FDCWD, address_of(path.text()), O_RDONLY | O_CLOEXEC);
  if (file < 0) return file;
  const long size = raw_syscall(SYS_read, file, address_of(buffer), bytes - 1);
  raw_syscall(SYS_close, file);
  if (size >= 0) buffer[size] = '\0';
  return size;
}

std::uint64_t parse_hex(const char* text) noexcept {
  std::uint64_t value = 0;
  for (;; ++text) {
    const char c = *text;
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<unsigned>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

struct TaskState {
  enum class Kind : std::uint8_t { kGone, kRunning, kInCall, kStarting };
  Kind kind = Kind::kGone;
  std::uint64_t stack = 0;
  std::uint64_t pc = 0;
};
bool operator==(const TaskState& a, const TaskState& b) noexcept {
  return a.kind == b.kind && a.stack == b.stack && a.pc == b.pc;
}

// Source: fs/proc/base.c, proc_pid_syscall: "running"; "-1 SP PC" outside of a call, as in a page
// fault; "NUMBER, 6 arguments, SP PC".
TaskState parse_state(const char* text) noexcept {
  if (text[0] < '0' || text[0] > '9') return {.kind = TaskState::Kind::kRunning};
  long number = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) number = number * 10 + (*at - '0');
  std::uint64_t last = 0;
  std::uint64_t before = 0;
  for (; *at != '\0'; ++at) {
    if (at[0] != '0' || at[1] != 'x') continue;
    before = last;
    last = parse_hex(at + 2);
    ++at;
  }
  // It may wait for a child that runs in this memory (vfork) and that is not listed.
  const bool starts = number == SYS_clone || number == SYS_vfork || number == SYS_clone3;
  return {starts ? TaskState::Kind::kStarting : TaskState::Kind::kInCall, before, last};
}

TaskState read_state(std::int32_t tid) noexcept {
  char text[256];
  const long size = read_task_file(tid, "syscall", text, sizeof text);
  if (size == -ENOENT || size == -ESRCH) return {};
  // Not allowed to: it can still answer.
  return size <= 0 ? TaskState{.kind = TaskState::Kind::kRunning} : parse_state(text);
}

bool begins_with(const char* text, const char* begin) noexcept {
  while (*begin != '\0') {
    if (*text++ != *begin++) return false;
  }
  return true;
}

bool blocks_signal(std::int32_t tid, int signal) noexcept {
  char text[2048];
  if (read_task_file(tid, "status", text, sizeof text) <= 0) return true;
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at == '\n' && begins_with(at + 1, "SigBlk:\t")) {
      return (parse_hex(at + 9) >> (signal - 1) & 1) != 0;
    }
  }
  return true;
}

// False: the thread is gone.
bool ask(const GateThreads& all, std::uint32_t index) noexcept {
  siginfo_t info;
  auto* const bytes = reinterpret_cast<volatile char*>(&info);
  for (unsigned at = 0; at < sizeof info; ++at) bytes[at] = 0;
  info.si_signo = all.signal;
  info.si_code = kGateSignalCode;
  info.si_pid = all.pid;
  info.si_value.sival_ptr = reinterpret_cast<void*>(gate_value(all.sequence, index));
  return raw_syscall(SYS_rt_tgsigqueueinfo, all.pid, all.threads[index].tid, all.signal,
                     address_of(&info)) == 0;
}

bool is_outside_in_call(const GateThreads& all, GateThread& thread,
                        const TaskState& state) noexcept {
  if (state.kind != TaskState::Kind::kInCall || all.forbidden.contains(state.pc)) return false;
  std::uint64_t words[512];  // quick enough to be done before a short sleep ends
  if (is_on_stack(all.pid, state.stack, all.forbidden, words)) return false;
  return read_state(thread.tid) == state;  // it did not run meanwhile
}

GateAnswer answer_of(const GateThreads& all, const GateThread& thread) noexcept {
  for (const GateAnswer answer : {GateAnswer::kAsked, GateAnswer::kReturns, GateAnswer::kOutside}) {
    if (thread.answer.load() == numbered(all.sequence, answer)) return answer;
  }
  return GateAnswer::kWaited;
}

void look_at(GateThreads& all, std::uint32_t index) noexcept {
  GateThread& thread = all.threads[index];
  const GateAnswer answer = answer_of(all, thread);
  if (answer == GateAnswer::kOutside) return;
  const auto set = [&](GateAnswer value) { thread.answer.store(numbered(all.sequence, value)); };
  const TaskState state = read_state(thread.tid);
  if (state.kind == TaskState::Kind::kGone || is_outside_in_call(all, thread, state)) {
    return set(GateAnswer::kOutside);
  }
  const bool can_answer = state.kind == TaskState::Kind::kRunning && answer != GateAnswer::kAsked &&
                          !blocks_signal(thread.tid, all.signal);
  if (!can_answer) return;
  set(GateAnswer::kAsked);
  if (ask(all, index)) {
    ++all.signalled;
  } else {
    set(GateAnswer::kWaited);
  }
}

bool is_real_time(std::int32_t tid) noexcept {
  const long policy = raw_syscall(SYS_sched_getscheduler, tid) & 0xffff;
  return policy == SCHED_FIFO || policy == SCHED_RR || policy == 6;  // SCHED_DEADLINE
}

struct Entry {  // of getdents64
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t bytes;
  std::uint8_t type;
  char name[1];
};

bool is_known(const GateThreads& all, std::int32_t tid) noexcept {
  for (std::uint32_t index = 0; index < all.count; ++index) {
    if (all.threads[index].tid == tid) return true;
  }
  return false;
}

// The thread that is not listed yet, or 0.
std::int32_t tid_of(const Entry& entry) noexcept {
  std::int32_t tid = 0;
  for (const char* at = entry.name; *at != '\0'; ++at) {
    if (*at < '0' || *at > '9') return 0;
    tid = tid * 10 + (*at - '0');
  }
  return tid;
}

// Adds threads that were not seen before.
GateLook list_threads(GateThreads& all, std::int32_t self, std::int32_t& culprit,
                      bool& found_some) noexcept {
  static constexpr char kTasks[] = "/proc/self/task";
  const long folder =
      raw_syscall(SYS_openat, AT_FDCWD, address_of(kTasks), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return GateLook::kUnreadable;
  alignas(8) char buffer[4096];
  GateLook result = GateLook::kAllOutside;
  long bytes = 0;
  while (result == GateLook::kAllOutside &&
         (bytes = raw_syscall(SYS_getdents64, folder, address_of(buffer), sizeof buffer)) > 0) {
    for (long at = 0; at < bytes && result == GateLook::kAllOutside;) {
      const auto& entry = *reinterpret_cast<const Entry*>(buffer + at);
      at += entry.bytes;
      const std::int32_t tid = tid_of(entry);
      if (tid == 0 || tid == self || is_known(all, tid)) continue;
      found_some = true;
      culprit = tid;
      if (all.count == kMostGateThreads) {
        result = GateLook::kTooMany;
      } else if (is_real_time(tid)) {
        result = GateLook::kRealTime;
      } else {
        all.threads[all.count].tid = tid;
        all.threads[all.count++].answer.store(numbered(all.sequence, GateAnswer::kWaited));
      }
    }
  }
  raw_syscall(SYS_close, folder);
  return result;
}

}  // namespace

GateLook look_at_threads(GateThreads& all, std::int32_t& culprit) noexcept {
  const auto self = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  // A thread that ends while the folder is read may hide another one from it.
  for (int complete = 0; complete < 2;) {
    bool found_some = false;
    const GateLook listed = list_threads(all, self, culprit, found_some);
    if (listed != GateLook::kAllOutside) return listed;
    complete = found_some ? 0 : complete + 1;
  }
  GateLook result = GateLook::kAllOutside;
  for (std::uint32_t index = 0; index < all.count; ++index) {
    look_at(all, index);
    if (answer_of(all, all.threads[index]) == GateAnswer::kOutside) continue;
    result = GateLook::kSomeInside;
    culprit = all.threads[index].tid;
  }
  return result;
}

void ask_again(GateThreads& all) noexcept {
  for (std::uint32_t index = 0; index < all.count; ++index) {
    std::uint64_t asked = numbered(all.sequence, GateAnswer::kAsked);
    all.threads[index].answer.compare_exchange(asked, numbered(all.sequence, GateAnswer::kWaited));
  }
}

bool is_on_stack(std::int32_t pid, std::uint64_t stack, ForbiddenCode forbidden,
                 std::span<std::uint64_t> words) noexcept {
  const std::uint64_t bytes = words.size_bytes();
  const std::uint64_t end = stack + kMostStackBytes;
  for (std::uint64_t piece = stack & -bytes; piece < end; piece += bytes) {
    iovec local{words.data(), bytes};
    iovec remote{reinterpret_cast<void*>(piece), bytes};
    const long read =
        raw_syscall(SYS_process_vm_readv, pid, address_of(&local), 1, address_of(&remote), 1, 0);
    if (read != static_cast<long>(bytes)) return false;  // the stack's end
    for (const std::uint64_t word : words) {
      if (forbidden.contains(word)) return true;
    }
  }
  return false;
}

}  // namespace swipr::trace
