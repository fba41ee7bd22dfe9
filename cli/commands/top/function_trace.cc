#include "cli/commands/top/function_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/commands/latency/traced_process.h"
#include "cli/profile/call_split.h"
#include "cli/session/find/targets.h"
#include "cli/trace/durations.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr double kSlowShare = 0.95;
constexpr std::size_t kHistogramSteps = 24;

// An address within the call, if `frame` is that of a caller.
std::uint64_t code_of(const profile::Frame& frame) {
  return frame.pc.value - (frame.kind == PcKind::kReturnAddress ? 1 : 0);
}

tracing::Durations durations_of(const live::CallBuckets& calls) {
  tracing::Durations durations;
  for (const auto& [bucket, count] : calls) durations.add_bucket(bucket, count);
  return durations;
}

}  // namespace

std::optional<std::uint64_t> find_code_of(const profile::Recording& recording,
                                          const profile::Names& names,
                                          const std::string& function) {
  std::optional<std::uint64_t> inlined;
  for (std::size_t at = 0; at < std::min(recording.frames.size(), names.frames.size()); ++at) {
    const profile::Frame& frame = recording.frames[at];
    const profile::FrameNames& named = names.frames[at];
    if (frame.module == profile::kNone || named.empty()) continue;
    if (named.back().function == function) return code_of(frame);
    const bool is_inlined = std::any_of(
        named.begin(), named.end(), [&](const auto& each) { return each.function == function; });
    if (is_inlined && !inlined) inlined = code_of(frame);
  }
  return inlined;
}

FunctionTrace::FunctionTrace(const profile::Recording& process, Pid pid, std::uint64_t address,
                             std::string shown, const options::TopOptions& options)
    : pid_(pid), name_(std::move(shown)), options_(options) {
  profile::Recording modules;
  modules.processes = process.processes;
  modules.modules = process.modules;
  search_ = std::async(std::launch::async, [modules = std::move(modules), address,
                                            directories = options.symbols.debug_directories] {
    return find_traced_functions(modules, {fmt::format("0x{:x}", address)}, "", directories);
  });
}

void FunctionTrace::fail(std::string reason) {
  problem_ = std::move(reason);
  process_.reset();
}

void FunctionTrace::advance() {
  if (!search_.valid() || search_.wait_for(0s) != std::future_status::ready) return;
  const auto found = search_.get();
  if (!found) return fail(found.error().message());
  name_ = found->functions.front().name;
  auto target = session::connect_target(pid_);
  if (!target) return fail(target.error().message());
  process_ = std::make_unique<FollowedProcess>(*std::move(target), options_.interval,
                                               options_.symbols, list_probes(*found));
}

int FunctionTrace::fd() const { return process_ == nullptr ? -1 : process_->fd(); }

void FunctionTrace::read() {
  std::vector<profile::Sample> samples;
  const auto more = process_->read(samples);
  for (profile::Sample& sample : samples) credits_.apply(sample);
  calls_.add(samples);
  if (traced() != nullptr) {
    calls_.add_calls(traced()->buckets);
    if (!traced()->problem.empty()) return fail(traced()->problem);
  }
  if (!more) return fail(more.error().message());
  if (!*more) return fail("the process has ended the recording");
  if (!process_->is_full()) return;
  if (const auto again = process_->restart(); !again) return fail(again.error().message());
  credits_ = {};
  calls_.begin_stream();
}

// nullptr: the process has not answered yet.
const profile::TracedFunction* FunctionTrace::traced() const {
  const auto& all = process_->recording().traced;
  return all.empty() ? nullptr : &all.front();
}

live::Latency FunctionTrace::latency(std::size_t seconds) const {
  live::Latency result;
  result.function = name_;
  const tracing::Durations durations = durations_of(calls_.calls(seconds));
  if (!problem_.empty()) {
    result.state = "is not traced, because " + problem_;
  } else if (search_.valid()) {
    result.state = "is searched";
  } else if (durations.calls() == 0) {
    const bool is_attached = traced() != nullptr && traced()->was_traced;
    result.state = is_attached ? "has had no call that ended yet" : "is about to be traced";
  }
  if (durations.calls() == 0) return result;
  const double covered = std::chrono::duration<double>(calls_.covered(seconds)).count();
  result.per_second = static_cast<double>(durations.calls()) / std::max(covered, 1e-3);
  result.p50 = durations.quantile(0.5);
  result.p95 = durations.quantile(kSlowShare);
  result.histogram = live::make_histogram(calls_.calls(seconds), kHistogramSteps);
  return result;
}

// Exactly as `report --split p95` has it.
std::optional<nanoseconds> FunctionTrace::threshold(std::size_t seconds) const {
  profile::Recording calls;
  calls.traced.resize(1);
  calls.traced[0].buckets = calls_.calls(seconds);
  const std::vector<std::uint32_t> first = {0};
  return profile::quantile_of_calls(calls, first, 95'000);
}

std::vector<profile::Sample> FunctionTrace::slow_samples(std::size_t seconds) const {
  const auto slower_than = threshold(seconds);
  if (!slower_than) return {};
  profile::Recording& recording = process_->recording();
  recording.samples = calls_.samples(seconds);
  const profile::CallSplit split(recording, {0}, *slower_than);
  profile::keep_part(recording, split, profile::CallPart::kSlow);
  return std::exchange(recording.samples, {});
}

}  // namespace swipr::commands
