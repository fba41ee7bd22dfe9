#include "preload/handler/asking.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/core/errno_saver.h"
#include "preload/handler/signals/disposition.h"
#include "preload/handler/signals/timed_threads.h"

namespace swipr::handler {

namespace {

// The agent sends within microseconds of CPU time, but may have to wait for a CPU meanwhile.
constexpr int kMaxYields = 1000;
constexpr int kMaxPauses = 100;
constexpr timespec kPause{0, 100'000};

constinit std::atomic<bool> on{false};
constinit std::atomic<std::int32_t> asked{0};
constinit std::atomic<std::uint32_t> changing{0};
constinit std::atomic<std::uint32_t> epoch{0};

// Afterwards every signal that was sent before has been delivered, because signals are delivered
// when a system call returns.
void wait_until_asked() noexcept {
  if (asked.load() == 0) return;
  const ErrnoSaver errno_saver;
  const auto self = static_cast<std::int32_t>(::syscall(SYS_gettid));
  for (int yields = 0; yields < kMaxYields && asked.load() == self; ++yields) ::sched_yield();
  for (int pauses = 0; pauses < kMaxPauses && asked.load() == self; ++pauses) {
    ::syscall(SYS_nanosleep, &kPause, nullptr);
  }
  ::sched_yield();
}

}  // namespace

Asking::Asking(std::int32_t tid) noexcept { asked.store(tid); }
Asking::~Asking() { asked.store(0); }
bool Asking::is_calm() const noexcept { return changing.load() == 0; }
std::uint32_t Asking::mask_epoch() const noexcept { return epoch.load(); }
void Asking::forget_changes() noexcept { changing.store(0); }

void set_asking(bool recording) noexcept { on.store(recording); }

void forget_asking_after_fork() noexcept {
  on.store(false);
  asked.store(0);
  changing.store(0);
}

MaskChange::MaskChange(bool blocks) noexcept {
  if (!blocks || !on.load() || !owns_dispositions()) return;
  announced_ = true;
  changing.fetch_add(1);
  wait_until_asked();
  stop_own_timer();
}

MaskChange::~MaskChange() {
  epoch.fetch_add(1, std::memory_order_release);
  std::uint32_t now = announced_ ? changing.load() : 0;
  // 0: the entry has been removed.
  while (now != 0 && !changing.compare_exchange_weak(now, now - 1)) {
  }
}

}  // namespace swipr::handler
