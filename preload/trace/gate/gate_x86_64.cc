#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "preload/machine/raw_syscall.h"
#include "preload/trace/gate/fork_lock.h"
#include "preload/trace/gate/gate.h"
#include "preload/trace/gate/gate_threads.h"

namespace swipr::trace {

namespace {

using machine::raw_syscall;

constexpr std::uint64_t kDeadlineNs = 1'000'000'000;
constexpr std::uint64_t kPageBytes = 4096;

struct Window {
  Atomic<std::uint64_t> sequence;  // 0: none is open
  const Plan* plan;
  std::uint64_t copy;
  Atomic<std::uint32_t> moved;
};

constinit Window window{};
constinit GateThreads threads{};

// The same of this CPU.
void serialise() noexcept {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx) : : "memory");
}

// The two bytes are in one word of eight (plan): other CPUs see both or none.
void store_two(std::uint64_t address, std::uint16_t value) noexcept {
  asm volatile("movw %1, (%0)" : : "r"(address), "r"(value) : "memory");
}

void store_others(std::uint64_t address, const std::uint8_t (&bytes)[kJumpBytes]) noexcept {
  auto* const code = reinterpret_cast<volatile std::uint8_t*>(address);
  for (std::size_t at = kGateBytes; at < kJumpBytes; ++at) code[at] = bytes[at];
}

std::uint16_t first_two(const std::uint8_t (&bytes)[kJumpBytes]) noexcept {
  return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

constexpr std::uint8_t kGate[kJumpBytes] = {0xeb, 0xfe, 0, 0, 0};

// Of all bytes that change.
bool protect(const Plan& plan, int protection) noexcept {
  const std::uint64_t begin = plan.patch() & -kPageBytes;
  const std::uint64_t end = (plan.patch() + kJumpBytes + kPageBytes - 1) & -kPageBytes;
  return raw_syscall(SYS_mprotect, static_cast<long>(begin), static_cast<long>(end - begin),
                     protection) == 0;
}
constexpr int kCode = PROT_READ | PROT_EXEC;

// Everything behind the gate, then the gate.
void write_patch(const Plan& plan, const std::uint8_t (&bytes)[kJumpBytes]) noexcept {
  store_others(plan.patch(), bytes);
  synchronise();
  store_two(plan.patch(), first_two(bytes));
  synchronise();
}

GateStatus status_of(GateLook look) noexcept {
  switch (look) {
    case GateLook::kAllOutside:
      return GateStatus::kDone;
    case GateLook::kTooMany:
      return GateStatus::kTooManyThreads;
    case GateLook::kRealTime:
      return GateStatus::kRealTime;
    case GateLook::kUnreadable:
      return GateStatus::kUnsupported;
    default:
      return GateStatus::kNotReached;
  }
}

// Until all threads are outside.
GateReport await_threads(std::uint64_t deadline) noexcept {
  GateReport report;
  std::uint64_t pause_ns = 20'000;
  std::uint64_t asked = now_ns();
  constexpr std::uint64_t kAnswerNs = 50'000'000;
  constexpr std::uint64_t kLongestPauseNs = 2'000'000;
  for (;;) {
    const GateLook look = look_at_threads(threads, report.thread);
    report.status = status_of(look);
    const std::uint64_t now = now_ns();
    if (look != GateLook::kSomeInside || now > deadline) return report;
    // A signal that was pending already, of a sample, has taken the place of the gate's.
    if (now - asked > kAnswerNs) {
      ask_again(threads);
      asked = now;
    }
    sleep_ns(pause_ns);
    pause_ns = pause_ns < kLongestPauseNs ? 2 * pause_ns : kLongestPauseNs;
  }
}

void begin_window(const Plan& plan, std::uint64_t copy) noexcept {
  static std::uint64_t last_sequence = 0;
  threads.count = 0;
  threads.signalled = 0;
  threads.sequence = ++last_sequence;
  threads.forbidden = ForbiddenCode(plan.patch());
  window.moved.store(0);
  window.plan = &plan;
  window.copy = copy;
  window.sequence.store(threads.sequence);
}

struct Bytes {
  std::uint8_t at[kJumpBytes];
};

Bytes bytes_of(const std::uint8_t* from) noexcept {
  Bytes bytes;
  for (std::size_t at = 0; at < kJumpBytes; ++at) bytes.at[at] = from[at];
  return bytes;
}

bool operator==(const Bytes& a, const Bytes& b) noexcept {
  for (std::size_t at = 0; at < kJumpBytes; ++at) {
    if (a.at[at] != b.at[at]) return false;
  }
  return true;
}

Bytes jump_of(const Patch& patch) noexcept {
  const auto distance = static_cast<std::uint32_t>(patch.stub - (patch.plan->patch() + kJumpBytes));
  return {{0xe9, static_cast<std::uint8_t>(distance), static_cast<std::uint8_t>(distance >> 8),
           static_cast<std::uint8_t>(distance >> 16), static_cast<std::uint8_t>(distance >> 24)}};
}

// The code's module may have been unmapped: read by a call that cannot fault.
bool read_code(std::uint64_t address, Bytes& out) noexcept {
  iovec local{out.at, kJumpBytes};
  iovec remote{reinterpret_cast<void*>(address), kJumpBytes};
  return raw_syscall(SYS_process_vm_readv, threads.pid, address_of(&local), 1, address_of(&remote),
                     1, 0) == static_cast<long>(kJumpBytes);
}

GateReport change_behind_gate(const Plan& plan, std::uint64_t copy,
                              const std::uint8_t (&jump)[kJumpBytes],
                              std::uint64_t deadline) noexcept {
  const auto* const code = reinterpret_cast<const volatile std::uint8_t*>(plan.patch());
  const auto before = static_cast<std::uint16_t>(code[0] | code[1] << 8);
  begin_window(plan, copy);
  store_two(plan.patch(), first_two(kGate));
  synchronise();
  const GateReport report = await_threads(deadline);
  if (report.status == GateStatus::kDone) {
    write_patch(plan, jump);
  } else {
    store_two(plan.patch(), before);
    synchronise();
  }
  window.sequence.store(0);
  return report;
}

}  // namespace

GateStatus prepare_gate(int signal) noexcept {
  threads.signal = signal;
  threads.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  if (raw_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0) != 0) {
    return GateStatus::kUnsupported;
  }
  const std::uint64_t here = now_ns();
  const auto stack = reinterpret_cast<std::uint64_t>(&here);
  std::uint64_t words[32];
  if (!is_on_stack(threads.pid, stack, ForbiddenCode(here - 1), words))
    return GateStatus::kUnsupported;
  if (threads.threads != nullptr) return GateStatus::kDone;
  const long memory =
      raw_syscall(SYS_mmap, 0, static_cast<long>(kMostGateThreads * sizeof(GateThread)),
                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory < 0) return GateStatus::kUnsupported;
  threads.threads = reinterpret_cast<GateThread*>(memory);
  return GateStatus::kDone;
}

GateReport open_patch(const Patch& patch) noexcept {
  const std::uint64_t begin = now_ns();
  const std::uint64_t deadline = begin + kDeadlineNs;
  const Bytes jump = jump_of(patch);
  if (!wait_for_forks(deadline)) return {.status = GateStatus::kForking};
  GateReport report{.status = GateStatus::kGone};
  Bytes found;
  if (read_code(patch.plan->patch(), found) && found == bytes_of(patch.original)) {
    report.status = GateStatus::kNotWritable;
    if (protect(*patch.plan, kCode | PROT_WRITE)) {
      report = change_behind_gate(*patch.plan, patch.copy, jump.at, deadline);
      protect(*patch.plan, kCode);
      report.threads = threads.count;
      report.signalled = threads.signalled;
      report.moved = window.moved.load();
    }
  }
  let_fork();
  report.duration_ns = now_ns() - begin;
  return report;
}

GateReport close_patch(const Patch& patch) noexcept {
  const std::uint64_t begin = now_ns();
  if (!wait_for_forks(begin + kForksNs)) return {.status = GateStatus::kForking};
  GateReport report{.status = GateStatus::kGone};
  const Bytes original = bytes_of(patch.original);
  Bytes found;
  const bool is_read = read_code(patch.plan->patch(), found);
  if (is_read && found == original) {
    report.status = GateStatus::kDone;
  } else if (is_read && found == jump_of(patch)) {
    report.status = GateStatus::kNotWritable;
    if (protect(*patch.plan, kCode | PROT_WRITE)) {
      store_two(patch.plan->patch(), first_two(kGate));
      synchronise();
      write_patch(*patch.plan, original.at);
      protect(*patch.plan, kCode);
      report.status = GateStatus::kDone;
    }
  }
  let_fork();
  report.duration_ns = now_ns() - begin;
  return report;
}

void answer_gate(std::uint64_t value, std::uint64_t& pc, std::uint64_t stack) noexcept {
  const std::uint64_t sequence = value >> 16;
  const Plan* const plan = window.plan;
  const std::uint64_t copy = window.copy;
  const std::uint64_t index = value & 0xffff;  // of a foreign signal with this code: any
  if (sequence == 0 || window.sequence.load() != sequence) return;  // closed meanwhile
  if (index >= kMostGateThreads) return;
  const ForbiddenCode forbidden = threads.forbidden;
  if (forbidden.contains(pc)) {
    // Even if the gate is closed by now: the copy does the same at all times.
    const std::uint64_t moved = plan->moved_pc(pc, copy);
    if (moved != 0) {
      pc = moved;
      window.moved.fetch_add(1);
    }
  }
  std::uint64_t words[32];  // handlers have little stack
  const bool returns = forbidden.contains(pc) || is_on_stack(threads.pid, stack, forbidden, words);
  serialise();
  std::uint64_t asked = numbered(sequence, GateAnswer::kAsked);
  threads.threads[index].answer.compare_exchange(
      asked, numbered(sequence, returns ? GateAnswer::kReturns : GateAnswer::kOutside));
}

}  // namespace swipr::trace
