// Follows changes of the process during recordings: its threads, their signal masks and names, its
// modules.
#include <signal.h>

#include <algorithm>

#include "preload/agent/base/log.h"
#include "preload/agent/engine/engine.h"
#include "preload/agent/proc/thread_clock.h"
#include "preload/handler/signal_handler.h"
#include "preload/handler/signals/disposition.h"
#include "preload/handler/signals/handler_return.h"
#include "preload/handler/signals/signal_waits.h"

namespace swipr::agent {

namespace {

// Reading the maps of a program with thousands of mappings takes milliseconds: at most 2 %.
constexpr int kModulesCostFactor = 50;
// Reads one name after the other, each at most five times a second.
constexpr std::chrono::milliseconds kNameInterval{5};
constexpr std::chrono::milliseconds kNamesRound{200};
// While threads start and end continuously, listings follow each other directly, unless they cost
// more than 2 %: 10,000 threads take 10 ms.
constexpr int kListingRestFactor = 50;
constexpr int kOtherSignal = SIGWINCH;
// Until the next check a recording uses far less than kLeastRoom.
constexpr std::chrono::milliseconds kRoomInterval{100};
constexpr const char* kShortOfRoom =
    "the program's memory cgroup has less than 2 MiB left, and the kernel could kill the program";

}  // namespace

void Engine::refresh_threads() noexcept {
  const std::chrono::nanoseconds cpu_before = read_own_clock();
  bool any_gone = false;
  process_.threads.refresh([this, &any_gone](std::uint32_t place) {
    any_gone = true;
    process_.signals.cancel(process_.threads[place]);
    process_.timers.stop(process_.threads[place]);
    handler::forget_signal_wait(process_.threads[place].tid.value);
    for (Recording* recording : recordings_) {
      if (recording != nullptr) recording->drop_thread(place, process_.threads[place]);
    }
  });
  for (Recording* recording : recordings_) {
    if (any_gone && recording != nullptr) recording->write_staged(process_.threads);
  }
  listing_cost_ = read_own_clock() - cpu_before;
  may_list_from_ = monotonic_now() + listing_cost_ * kListingRestFactor;
}

// If one of the program's signals and swipr's are pending for a thread, the kernel merges them:
// SIGURG is not used if the program handles it.
int Engine::choose_signal() const noexcept {
  if (signal_number_ != 0) return signal_number_;
  const bool is_used = !handler::is_free_to_use(SIGURG) && handler::is_free_to_use(kOtherSignal);
  return is_used ? kOtherSignal : SIGURG;
}

// It has installed a handler for the sampling signal since.
bool Engine::program_uses_signal() const noexcept {
  return signal_number_ == 0 && handler::installed_signal() != kOtherSignal &&
         handler::program_handles_signal();
}

// A thread has begun to block the sampling signal since the recording began, or the program handles
// it.
void Engine::consider_other_signal(Moment now) noexcept {
  constexpr std::chrono::seconds kPause{10};
  const bool is_blocked = sampler_.met_blocked_signal();
  if ((!is_blocked && !program_uses_signal()) || now < other_signal_due_) return;
  sampler_.forget_blocked_signal();
  other_signal_due_ = now + kPause;
  const bool wants_other = program_uses_signal() || another_is_blocked_less();
  if ((wants_other && take_other_signal()) || !is_blocked) return;
  for (Recording* recording : recordings_) {
    if (recording != nullptr) recording->note_blocked_signal();
  }
}

// A thread that blocks the sampling signal is not signalled: the pending signal would be visible to
// it. Some programs block SIGURG permanently (Postgres reads it from a signalfd). SIGWINCH is a
// replacement: it is ignored by default, too.
bool Engine::another_is_blocked_less() noexcept {
  return process_.can_signal && signal_number_ == 0 &&
         handler::installed_signal() != kOtherSignal && fewer_threads_block(kOtherSignal);
}

// False: it cannot be used. True also if it has to be tried again later.
bool Engine::take_other_signal() noexcept {
  process_.signals.await_answers();
  collect();
  if (process_.signals.is_waiting()) return true;
  // Before 6.13 a deleted timer's signal may still arrive.
  const bool has_to_wait = process_.timers.close(process_.threads);
  const bool taken = !has_to_wait && handler::move_to(kOtherSignal);
  if (taken) {
    signal_number_ = kOtherSignal;
    for (std::uint32_t place = 0; place < process_.threads.place_count(); ++place) {
      Thread& thread = process_.threads[place];
      SignalPool::forget_mask(thread);
      CpuTimers::forget_stops(thread);
    }
    log_line(LogLevel::kInfo, "the program uses or blocks SIGURG: sampling with SIGWINCH");
  }
  process_.timers.open();
  return taken || has_to_wait;
}

bool Engine::fewer_threads_block(int number) noexcept {
  constexpr int kMostLooks = 128;  // 10 µs each
  const std::uint64_t present = std::uint64_t{1} << (handler::installed_signal() - 1);
  const std::uint64_t other = std::uint64_t{1} << (number - 1);
  int block_present = 0;
  int block_other = 0;
  int looks = 0;
  for (std::uint32_t place = 0; place < process_.threads.place_count(); ++place) {
    const Tid tid = process_.threads[place].tid;
    if (tid.value == 0) continue;
    char text[512];
    const std::uint64_t blocked =
        parse_blocked_signals(read_task_file(process_.threads.directory(), tid, "stat", text));
    block_present += (blocked & present) != 0 ? 1 : 0;
    block_other += (blocked & other) != 0 ? 1 : 0;
    if (++looks == kMostLooks) break;
  }
  return block_other < block_present;
}

void Engine::look_after_process(Moment now) noexcept {
  // At every tick (0.3 µs): until then the program's new handler would get this tick's signals.
  if (process_.can_signal) {
    handler::retake_handler();
    handler::redirect_lost_returns();
    consider_other_signal(now);
  }
  refresh_names(now);
  const bool outdated =
      process_.modules.is_outdated(process_.memory, now) && now >= registered_due_;
  if (outdated || now >= modules_due_) {
    refresh_modules(now);
  } else {
    process_.modules.free_retired();
  }
}

void Engine::refresh_modules(Moment now) noexcept {
  const unwind::CodeMap* const known = process_.modules.code_map();
  modules_known_ = process_.modules.refresh(process_.memory);
  if (process_.modules.code_map() != known) {
    process_.forget_code();
    unwind::forget_refuted();
  }
  registered_due_ = now + process_.modules.cost_of_last_refresh() * kModulesCostFactor;
  modules_due_ = std::max(now + kModulesInterval, registered_due_);
  for (Recording* recording : recordings_) {
    if (recording == nullptr) continue;
    recording->drop_gone_probes(process_.modules, process_.memory);
    recording->sync_modules(process_.modules, process_.threads);
  }
  process_.modules.forget_gone();
}

// The stacks that contain new code are not written yet: its module precedes them in the stream.
void Engine::refresh_modules_when_needed(Moment now) noexcept {
  if (!sampler_.met_unknown_code()) return;
  sampler_.forget_unknown_code();
  if (process_.modules.refresh_for_unknown_code(process_.memory, now)) process_.forget_code();
}

// The kernel could kill the program because of the recording's memory.
void Engine::end_where_memory_is_short(Moment now) noexcept {
  if (!process_.room.is_limited() || now < room_due_) return;
  room_due_ = now + kRoomInterval;
  if (!process_.modules.is_short_of_room() && process_.room.has(kLeastRoom)) return;
  log_line(LogLevel::kWarning, "recordings end early", kShortOfRoom);
  for (Recording* recording : recordings_) {
    if (recording == nullptr || recording->is_complete()) continue;
    close_accounts(*recording);
    recording->set_failure(kShortOfRoom);
  }
}

// At most two: each of 200 reads a second takes about 10 µs.
void Engine::refresh_names(Moment now) noexcept {
  ThreadList& threads = process_.threads;
  for (int looked = 0; looked < 2 && now >= name_due_; ++looked) {
    name_due_ = std::max(name_due_ + kNameInterval, now - kNameInterval);
    if (name_cursor_ < threads.place_count()) {
      if (threads[name_cursor_].tid.value != 0) threads.refresh_name(name_cursor_);
      ++name_cursor_;
      continue;
    }
    name_cursor_ = 0;
    name_due_ = names_begun_ = std::max(name_due_, names_begun_ + kNamesRound);
  }
}

}  // namespace swipr::agent
