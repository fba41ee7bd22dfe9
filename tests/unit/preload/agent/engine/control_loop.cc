#include "tests/unit/preload/agent/engine/control_loop.h"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <semaphore>
#include <thread>

namespace swipr::test {

namespace {

struct Running {
  agent::OutputQueue output;
  agent::Recording* recording = nullptr;
  std::vector<std::byte> bytes;
};

void drain(Running& running) {
  while (!running.output.front().empty()) {
    const auto front = running.output.front();
    running.bytes.insert(running.bytes.end(), front.begin(), front.end());
    running.output.pop(front.size());
  }
}

void sleep_until(agent::Moment moment) {
  // No deadline: the end is requested, so check often enough for that.
  const agent::Moment bounded =
      std::min(moment, agent::monotonic_now() + std::chrono::milliseconds(5));
  const timespec time{.tv_sec = bounded.count() / 1'000'000'000,
                      .tv_nsec = bounded.count() % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

bool starts(const std::vector<Wanted>& wanted, std::vector<std::unique_ptr<Running>>& all) {
  for (const Wanted& one : wanted) {
    auto running = std::make_unique<Running>();
    const char* error = nullptr;
    if (!running->output.create(one.output_bytes)) return false;
    running->recording = agent::recorder().start(one.request, running->output, &error);
    EXPECT_NE(running->recording, nullptr) << error;
    if (running->recording == nullptr) return false;
    all.push_back(std::move(running));
  }
  return true;
}

void run(const std::vector<Wanted>& wanted, const Hooks& hooks, const std::atomic<bool>& stop,
         std::binary_semaphore& started, std::vector<std::unique_ptr<Running>>& all) {
  agent::Recorder& recorder = agent::recorder();
  const bool ok = starts(wanted, all);
  if (ok && hooks.after_start) hooks.after_start();
  started.release();
  std::size_t judged_bytes = 0;
  while (ok) {
    bool complete = true;
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (!wanted[at].reader_is_awake || wanted[at].reader_is_awake()) drain(*all[at]);
      complete = complete && recorder.is_complete(all[at]->recording);
    }
    if (hooks.is_enough && all.front()->bytes.size() != judged_bytes) {
      judged_bytes = all.front()->bytes.size();
      complete = complete || hooks.is_enough(decode_recording(all.front()->bytes));
    }
    if (complete || stop.load()) break;
    sleep_until(recorder.next_deadline());
    if (hooks.before_ticks) hooks.before_ticks();
    recorder.run_due(agent::monotonic_now());
  }
  for (auto& running : all) {
    drain(*running);
    recorder.finish(running->recording, wire::EndReason::kComplete, "");
    drain(*running);
  }
}

}  // namespace

std::vector<DecodedRecording> record(const std::vector<Wanted>& wanted, const Hooks& hooks) {
  std::atomic<bool> stop{false};
  std::binary_semaphore started{0};
  std::vector<std::unique_ptr<Running>> all;
  std::thread control([&] { run(wanted, hooks, stop, started, all); });
  started.acquire();
  const bool limited = std::all_of(wanted.begin(), wanted.end(), [](const Wanted& one) {
    return one.request.ticks != 0 || one.request.duration.count() != 0;
  });
  if (hooks.meanwhile) hooks.meanwhile();
  if (!limited) stop = true;
  control.join();
  std::vector<DecodedRecording> decoded;
  for (const auto& running : all) decoded.push_back(decode_recording(running->bytes));
  return decoded;
}

DecodedRecording record_one(const agent::RecordingRequest& request, const Hooks& hooks) {
  auto all = record({Wanted{.request = request}}, hooks);
  return all.empty() ? DecodedRecording{} : std::move(all.front());
}

}  // namespace swipr::test
