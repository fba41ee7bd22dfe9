#include "preload/agent/recorder.h"

#include <time.h>

namespace swipr::agent {

Moment monotonic_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

Recording* Recorder::start(const RecordingRequest&, OutputQueue&, const char** error) noexcept {
  *error = "capture is not built in";
  return nullptr;
}
void Recorder::finish(Recording*, wire::EndReason, const char*) noexcept {}
bool Recorder::is_complete(const Recording*) const noexcept { return true; }
Moment Recorder::next_deadline() const noexcept { return kNever; }
void Recorder::run_due(Moment) noexcept {}
RecorderCounters Recorder::counters() const noexcept { return {}; }
void Recorder::reset_after_fork() noexcept {}

Recorder& recorder() noexcept {
  static constinit Recorder instance;
  return instance;
}

}  // namespace swipr::agent
