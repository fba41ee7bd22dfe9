// Preloaded into a real program by bench/real_stacks. At each signal, swipr's tables and libunwind
// unwind the same interrupted context, and agreeing frames are counted. The counts are written to
// the file that SWIPR_JUDGE_OUTPUT and the pid name.
#define UNW_LOCAL_ONLY
#include <fcntl.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "preload/unwind/walk/page_probe_reader.h"
#include "tests/unit/preload/unwind/self_map.h"

namespace {

using namespace swipr::unwind;

constexpr useconds_t kStartMicroseconds = 1'500'000;  // by then libraries are loaded
constexpr suseconds_t kPeriodMicroseconds = 4'000;

SelfMap* map = nullptr;
CodeMap code(std::span<const CodeRange>{});
int output = -1;
std::atomic_flag busy = ATOMIC_FLAG_INIT;

struct Counts {
  unsigned long stacks = 0;
  unsigned long equal = 0;
  unsigned long libunwind_ends_early = 0;  // equal up to its end
  unsigned long swipr_ends_early = 0;
  unsigned long different = 0;
  unsigned long frames = 0;
  unsigned long equal_frames = 0;
};
Counts counts;
FrameBuffer frames;
std::array<std::uint64_t, swipr::wire::kMaxFrames> judged;

std::size_t unwind_by_libunwind(ucontext_t* context) {
  unw_cursor_t cursor;
  if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) < 0) return 0;
  std::size_t count = 0;
  do {
    unw_word_t pc = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    if (pc == 0) break;
    judged[count++] = pc;
  } while (count < judged.size() && unw_step(&cursor) > 0);
  return count;
}

void compare(std::size_t judged_count) {
  const std::size_t common = std::min<std::size_t>(judged_count, frames.frame_count);
  const auto differs = std::mismatch(judged.begin(), judged.begin() + common, frames.pcs.begin());
  const auto equal_count = static_cast<std::size_t>(differs.first - judged.begin());
  ++counts.stacks;
  counts.frames += judged_count;
  counts.equal_frames += equal_count;
  if (equal_count < common) {
    ++counts.different;
  } else if (judged_count == frames.frame_count) {
    ++counts.equal;
  } else if (judged_count < frames.frame_count) {
    ++counts.libunwind_ends_early;
  } else {
    ++counts.swipr_ends_early;
  }
}

void write_counts() {
  std::array<char, 256> text{};
  const int size = std::snprintf(
      text.data(), text.size(),
      R"({"stacks": %lu, "equal": %lu, "libunwind_ends_early": %lu, "swipr_ends_early": %lu, )"
      R"("different": %lu, "frames": %lu, "equal_frames": %lu})",
      counts.stacks, counts.equal, counts.libunwind_ends_early, counts.swipr_ends_early,
      counts.different, counts.frames, counts.equal_frames);
  static_cast<void>(::pwrite(output, text.data(), static_cast<std::size_t>(size), 0));
}

void on_signal(int, siginfo_t*, void* context) {
  if (busy.test_and_set()) return;
  const int saved = errno;
  auto* const interrupted = static_cast<ucontext_t*>(context);
  PageProbeReader reader;
  walk(code, registers_of(*interrupted), reader, frames);
  compare(unwind_by_libunwind(interrupted));
  if (counts.stacks % 16 == 0) write_counts();
  errno = saved;
  busy.clear();
}

void* start(void*) {
  ::usleep(kStartMicroseconds);
  map = new SelfMap;
  code = map->code_map();
  struct sigaction action {};
  action.sa_sigaction = &on_signal;
  // Go's threads have small stacks and a large alternate one, Rust's the other way round: libunwind
  // needs more than 8 KiB.
  const int stack = std::getenv("SWIPR_JUDGE_ONSTACK") == nullptr ? 0 : SA_ONSTACK;
  action.sa_flags = SA_SIGINFO | SA_RESTART | stack;
  ::sigaction(SIGPROF, &action, nullptr);
  const itimerval period{{0, kPeriodMicroseconds}, {0, kPeriodMicroseconds}};
  ::setitimer(ITIMER_PROF, &period, nullptr);
  return nullptr;
}

void prepare() {
  const char* const path = std::getenv("SWIPR_JUDGE_OUTPUT");
  if (path == nullptr) return;
  std::array<char, 4096> name{};
  std::snprintf(name.data(), name.size(), "%s.%d", path, ::getpid());
  output = ::open(name.data(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, &start, nullptr) == 0) ::pthread_detach(thread);
}

// Threads and timers are not inherited, and servers work in forked processes.
void prepare_child() {
  counts = {};
  busy.clear();
  prepare();
}

[[gnu::constructor]] void load() {
  ::pthread_atfork(nullptr, nullptr, &prepare_child);
  prepare();
}

}  // namespace
