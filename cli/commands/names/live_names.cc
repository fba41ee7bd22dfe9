#include "cli/commands/names/live_names.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace swipr::commands {

namespace {
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kLongestPause = 1s;
constexpr std::chrono::nanoseconds kSaved = 10s;  // of pauses that were longer than they had to be
constexpr std::string_view kNotYet = "[not named yet]";
}  // namespace

const profile::Names& LiveNames::update(const profile::Recording& recording, bool waits) {
  if (job_.valid() && (waits || job_.wait_for(0s) == std::future_status::ready)) take();
  const bool is_time = waits || Clock::now() >= next_batch_;
  locks_.merge(find_lock_places(recording, searched_));
  searched_ = recording.stacks.size();
  const bool is_needed = named_ < recording.frames.size() || !locks_.empty();
  if (!job_.valid() && is_time && is_needed) {
    start(recording);
    if (waits) take();
  }
  profile::NamedFrame unnamed;
  unnamed.function = kNotYet;
  names_.frames.resize(recording.frames.size(), {unnamed});
  return names_;
}

// The thread has a recording of its own, of the new frames and what they refer to.
void LiveNames::start(const profile::Recording& recording) {
  profile::Recording part;
  part.processes = recording.processes;
  part.modules = recording.modules;
  part.functions = recording.functions;
  part.runtimes = recording.runtimes;
  part.embedded = recording.embedded;
  part.frames.assign(recording.frames.begin() + static_cast<std::ptrdiff_t>(named_),
                     recording.frames.end());
  job_ = std::async(std::launch::async, [part = std::move(part), options = options_,
                                         locks = std::exchange(locks_, {})]() mutable {
    const auto begin = Clock::now();
    const std::size_t count = part.frames.size();
    NamedRecording named = symbolize_recording(part, options, locks);
    named.names.frames.resize(count);  // of code that was replaced, the latest names come behind
    return Batch{std::move(named), Clock::now() - begin};
  });
}

void LiveNames::take() {
  auto [named, took] = job_.get();
  const auto now = Clock::now();
  next_batch_ = std::max(next_batch_, now - took - kSaved) + 10 * took;
  next_batch_ = std::min(next_batch_, now + kLongestPause);
  names_.frames.resize(std::max(names_.frames.size(), named_ + named.names.frames.size()));
  std::move(named.names.frames.begin(), named.names.frames.end(),
            names_.frames.begin() + static_cast<std::ptrdiff_t>(named_));
  names_.variables.merge(named.names.variables);
  named_ += named.names.frames.size();
  texts_.push_back(std::move(named.names.texts));
}

}  // namespace swipr::commands
