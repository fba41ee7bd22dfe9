// Ticks, their answers, and recordings that end with them.
#include <algorithm>

#include "preload/agent/engine/engine.h"

namespace swipr::agent {

namespace {

constexpr std::chrono::milliseconds kMaxLookingTime{20};
// A thread that starts when another ends does not change the number of threads. If all threads are
// checked at every tick, the missing one shows it; otherwise a listing is needed: at most 0.5 %.
constexpr std::chrono::milliseconds kListingInterval{100};
constexpr int kListingCostFactor = 200;

}  // namespace

Moment Engine::next_deadline() const noexcept {
  Moment next = probes_due();
  for (const Recording* recording : recordings_) {
    if (recording != nullptr) next = std::min(next, recording->next_deadline());
  }
  return next;
}

void Engine::run_due(Moment now) noexcept {
  look_after_probes(now);
  if (!any_recording()) return;
  collect();
  for (unsigned number = 0; number < recordings_.size(); ++number) {
    if (recordings_[number] != nullptr && recordings_[number]->tick_is_due(now)) {
      tick(number, now);
    }
  }
  refresh_modules_when_needed(now);
  end_where_memory_is_short(now);
  for (unsigned number = 0; number < recordings_.size(); ++number) {
    Recording* const recording = recordings_[number];
    if (recording == nullptr || recording->is_complete()) continue;
    if (recording->collect_is_due(now)) {
      if (process_.signals.is_asked_for(number) && recording->put_off_last_collect(now)) continue;
      recording->close_tick(process_.modules, process_.threads);
      recording->send(now);
    }
    if (recording->is_over(now)) close_accounts(*recording);
  }
}

void Engine::flush(Moment now) noexcept {
  if (!any_recording()) return;
  collect();
  for (Recording* recording : recordings_) {
    if (recording == nullptr || recording->is_complete()) continue;
    recording->write_so_far(process_.modules, process_.threads, now);
  }
}

void Engine::close_accounts(Recording& recording) noexcept {
  sampler_.sample_tasks(recording, monotonic_now(), true);
  for (std::uint32_t place = 0; place < process_.threads.place_count(); ++place) {
    if (process_.threads[place].tid.value == 0 || !recording.samples()) continue;
    sampler_.close_account(recording, place, monotonic_now());
  }
  recording.close_accounts(process_.threads.live_count());
  recording.set_complete();
}

void Engine::tick(unsigned number, Moment now) noexcept {
  Recording& recording = *recordings_[number];
  recording.close_tick(process_.modules, process_.threads);
  write_slow_calls(recording);
  write_call_ends();
  recording.write_latencies(now);
  recording.send(now);
  recording.begin_tick(now);
  look_after_process(now);
  const bool due = recording.stretches() && now >= listing_due_;
  if (may_list(now) && (due || process_.threads.count_changed())) {
    refresh_threads();
    listing_due_ = now + std::max<Moment>(kListingInterval, listing_cost_ * kListingCostFactor);
  }
  if (!recording.samples()) return;
  process_.modules.refresh_runtimes(process_.memory, now, process_.languages.take_outdated());
  sample_all(number, now);
  sampler_.sample_tasks(recording, now, false);
  collect();
}

void Engine::sample_all(unsigned number, Moment now) noexcept {
  Recording& recording = *recordings_[number];
  ThreadList& threads = process_.threads;
  bool any_gone = false;
  bool any_left_out = false;
  sampler_.begin_tick(std::min<std::chrono::nanoseconds>(recording.interval() / 2, kMaxLookingTime),
                      now);
  const std::uint32_t count = threads.place_count();
  // Each tick begins at another thread, so that threads for which the previous tick had no time
  // come early.
  const std::uint32_t first = count == 0 ? 0 : recording.next_first_place(count);
  for (std::uint32_t at = 0; at < count; ++at) {
    const std::uint32_t place = first + at < count ? first + at : first + at - count;
    if (!recording.looks_at(place)) {
      any_left_out = any_left_out || threads[place].tid.value != 0;
      continue;
    }
    if (threads[place].tid.value == 0) continue;
    any_gone = !sampler_.sample(recording, number, place, now) || any_gone;
  }
  if (any_left_out) recording.note_stretched();
  if (!any_gone || !may_list(now)) return;
  // If one ended, another may have started: the number is the same.
  refresh_threads();
  for (std::uint32_t place = 0; place < threads.place_count(); ++place) {
    if (threads[place].tid.value == 0 ||
        recording.accounts().find(place, threads[place]) != nullptr) {
      continue;
    }
    sampler_.sample(recording, number, place, now);
  }
}

void Engine::collect() noexcept {
  process_.signals.collect([this](std::uint32_t place, std::uint32_t generation,
                                  std::uint32_t asked, handler::Slot& slot) {
    if (place >= process_.threads.place_count()) return;  // an earlier recording's
    Thread& thread = process_.threads[place];
    if (thread.generation != generation || thread.tid.value == 0) return;
    sampler_.finish_walk(slot);
    sampler_.note_answer(place, slot);
    sampler_.splice_answer(place, slot);
    for (unsigned number = 0; number < recordings_.size(); ++number) {
      if ((asked & 1u << number) != 0 && recordings_[number] != nullptr) {
        sampler_.take_answer(*recordings_[number], place, slot);
      }
    }
  });
  process_.timers.collect(
      [this](std::uint32_t place, std::uint16_t generation, handler::Slot& slot) {
        if (place >= process_.threads.place_count()) return;
        Thread& thread = process_.threads[place];
        if (static_cast<std::uint16_t>(thread.generation) != generation || thread.tid.value == 0)
          return;
        sampler_.finish_walk(slot);
        sampler_.splice_answer(place, slot);
        bool needed = false;
        for (Recording* recording : recordings_) {
          needed = (recording != nullptr && sampler_.take_timer_stack(*recording, place, slot)) ||
                   needed;
        }
        if (needed) {
          process_.timers.draw_next(thread);
        } else {
          process_.timers.stop(thread);
        }
      });
}

}  // namespace swipr::agent
