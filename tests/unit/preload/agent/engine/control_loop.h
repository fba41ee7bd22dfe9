// Drives the recorder as the server does: one control thread that sleeps until the next deadline.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "preload/agent/engine/recorder.h"
#include "tests/unit/preload/agent/engine/decoded_recording.h"

namespace swipr::test {

struct Wanted {
  agent::RecordingRequest request;
  std::size_t output_bytes = std::size_t{64} << 20;
  // Called before every run_due, in the control thread; a reader that is not awake reads nothing.
  std::function<bool()> reader_is_awake{};
};

// Hooks run in the control thread.
struct Hooks {
  std::function<void()> after_start;
  // Before every run_due: anything measured here is not later than the ticks of that call.
  std::function<void()> before_ticks;
  // In the calling thread, while the recordings run. Recordings without a limit end after it.
  std::function<void()> meanwhile;
  // Given what the first recording has written so far, after each growth. True: recordings end.
  std::function<bool(const DecodedRecording&)> is_enough{};
};

std::vector<DecodedRecording> record(const std::vector<Wanted>& wanted, const Hooks& hooks = {});
DecodedRecording record_one(const agent::RecordingRequest& request, const Hooks& hooks = {});

}  // namespace swipr::test
