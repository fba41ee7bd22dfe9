#include "cli/commands/agent/collector.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cli/fleet/overhead_limit.h"
#include "cli/fleet/schedule.h"
#include "cli/session/http/connection.h"
#include "common/host/proc.h"
#include "common/wire/format.h"

namespace swipr::commands {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

session::StreamRequest request_of(const options::AgentOptions& options) {
  session::StreamRequest request;
  request.interval = options.interval;
  request.max_overhead_permille = options.max_overhead_permille;
  request.mode = static_cast<wire::RecordMode>(options.mode);
  return request;
}

std::uint32_t source_of(const profile::Recording& recording, const profile::Sample& sample) {
  return recording.processes[recording.threads[sample.thread].process].source;
}

bool has_new_image(const AgentTarget& target) {
  const auto status = host::read_process_status(target.facts.pid);
  return status && status->state != 'Z' &&
         (status->name != target.facts.command_name ||
          host::read_command_line(target.facts.pid) != target.facts.command_line);
}

}  // namespace

Collector::Collector(const options::AgentOptions& options, AgentLog& log, AgentCounters& counters)
    : options_(options),
      log_(log),
      counters_(counters),
      targets_(options),
      streams_(request_of(options)) {}

void Collector::add_descriptors(std::vector<pollfd>& waits, bool streams) const {
  waits.push_back({targets_.watch_fd(), POLLIN, 0});
  if (streams) streams_.add_descriptors(waits);
}

void Collector::on_ready(const std::vector<pollfd>& waits) {
  for (const pollfd& wait : waits) {
    if (wait.revents != 0 && wait.fd == targets_.watch_fd()) targets_.on_change();
  }
  for (const StreamPool::Ended& ended : streams_.read(waits)) {
    const auto place = target_of_stream_.find(ended.stream);
    AgentTarget* const target =
        place == target_of_stream_.end() ? nullptr : targets_.find(place->second);
    if (target != nullptr) on_stream_end(*target, ended.reason);
  }
}

void Collector::on_stream_end(AgentTarget& target, const std::string& reason) {
  target.swipr_before += swipr_cpu(target);
  target.stream.reset();
  target.was_closed = true;
  target.refusal = reason;
  if (const auto cpu = read_cpu_clock(target.facts.pid)) {
    target.kernel_cpu = std::max(target.kernel_cpu, *cpu);
  }
  // A process that is not visible has ended with its stream. A new image is a target of its own.
  if (target.start_ticks != 0 && !has_new_image(target)) return;
  target.has_ended = true;
  targets_.look_again(target.socket);
}

void Collector::look() {
  targets_.look(std::chrono::steady_clock::now());
  std::size_t present = 0;
  for (auto& [id, target] : targets_.all()) {
    if (target.has_ended) continue;
    ++present;
    const fleet::Usage usage{target.kernel_cpu - target.slice_cpu, 0ns};
    const bool is_new = !target.is_known;
    const bool may_run = is_new || target.start_ticks == 0 || fleet::is_worth_recording(usage);
    if (target.stream || !target.refusal.empty() || !may_run) continue;
    target.is_known = true;
    open_stream(target);
    if (target.stream) target_of_stream_[*target.stream] = id;
  }
  has_seen_targets_ = has_seen_targets_ || present != 0;
  counters_.targets = present;
  counters_.recorded = streams_.size();
  counters_.left_out = targets_.left_out();
}

void Collector::open_stream(AgentTarget& target) {
  const std::size_t slash = target.socket.rfind('/');
  session::ConnectOutcome outcome =
      session::connect_in(target.socket.substr(0, slash), target.socket.substr(slash + 1));
  if (!outcome.fd) {
    // One that is about to end or to execute another program is found again, or not.
    target.refusal = std::strerror(outcome.error);
    return;
  }
  const bool is_hidden = outcome.peer.pid.value == 0;
  const bool is_ours = ::geteuid() == 0 || outcome.peer.uid == ::geteuid() || outcome.peer.uid == 0;
  if (!is_ours || (!is_hidden && outcome.peer.pid != target.facts.pid)) {
    target.refusal = "another process listens there";
    return;
  }
  if (is_hidden) target.start_ticks = 0;  // /proc shows another process with this id
  target.stream = streams_.open(std::move(outcome.fd), target.halvings);
  target.was_opened = true;
  target.before_stream = {target.kernel_cpu, target.recorded, target.swipr_before};
}

// The largest of its images: the counter of each goes on from that of the one before.
nanoseconds Collector::swipr_cpu(const AgentTarget& target) {
  std::uint64_t used = 0;
  if (!target.stream) return 0ns;
  for (const profile::Process& process : streams_.recording().processes) {
    if (process.source != *target.stream) continue;
    const auto found = process.totals.find(std::string(wire::counter::kAgentCpuNs));
    if (found != process.totals.end()) used = std::max(used, found->second);
  }
  return nanoseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(used, 1ull << 60)));
}

fleet::CpuReading Collector::reading_of(const AgentTarget& target, bool is_last) {
  fleet::CpuReading reading;
  reading.now = {target.start_ticks == 0 ? 0ns : target.kernel_cpu, target.recorded,
                 target.swipr_before + swipr_cpu(target)};
  // Samples come late: of threads that run in bursts some tens of ticks, of those that hardly run
  // minutes.
  const bool is_open = target.stream.has_value() && !is_last && !target.has_ended;
  reading.settled = is_open ? target.before_stream : reading.now;
  // A recording begins anew when its rate changes.
  const fleet::Usage usage{target.kernel_cpu - target.slice_cpu, 0ns};
  const bool is_starting =
      target.was_opened || (!target.stream && fleet::is_worth_recording(usage));
  using fleet::Unrecorded;
  reading.reason = !target.refusal.empty() && !target.was_opened ? Unrecorded::kRefused
                   : target.has_ended                            ? Unrecorded::kEnded
                   : is_starting                                 ? Unrecorded::kStarting
                   : target.was_closed                           ? Unrecorded::kEnded
                   : target.stream                               ? Unrecorded::kLost
                                                                 : Unrecorded::kIdle;
  return reading;
}

SliceJob Collector::cut_slice(const fleet::Span& span, bool is_last) {
  SliceJob job;
  job.span = span;
  job.samples = streams_.take_samples();
  job.whole = &streams_.recording();
  std::map<std::uint64_t, nanoseconds> recorded;
  std::map<std::uint64_t, nanoseconds> recorded_before;  // by streams that have ended
  for (const profile::Sample& sample : job.samples) {
    counters_.samples += sample.ticks;
    const auto place = target_of_stream_.find(source_of(*job.whole, sample));
    if (place == target_of_stream_.end()) continue;
    recorded[place->second] += sample.cpu;
    const AgentTarget* const target = targets_.find(place->second);
    const bool is_open = target != nullptr && target->stream == place->first;
    if (!is_open) recorded_before[place->second] += sample.cpu;
  }
  for (auto& [id, target] : targets_.all()) {
    target.recorded += recorded[id];
    target.before_stream.recorded += recorded_before[id];
    const nanoseconds before = target.ledger.kernel();
    SliceTarget entry;
    entry.unrecorded = target.ledger.close_slice(reading_of(target, is_last));
    entry.kernel = target.ledger.kernel() - before;
    entry.recorded = recorded[id];
    entry.refusal = target.refusal;
    entry.has_ended = target.has_ended;
    counters_.kernel_cpu += entry.kernel;
    counters_.recorded_cpu += entry.recorded;
    using fleet::Unrecorded;
    counters_.unrecorded_cpu[static_cast<std::size_t>(Unrecorded::kSwipr)] +=
        entry.unrecorded.swipr;
    counters_.unrecorded_cpu[static_cast<std::size_t>(entry.unrecorded.reason)] +=
        entry.unrecorded.other;
    if (entry.kernel + entry.recorded + entry.unrecorded.sum() == 0ns) continue;
    for (const auto& [stream, owner] : target_of_stream_) {
      if (owner == id) job.target_of_source[stream] = job.targets.size();
    }
    entry.facts = target.facts;
    job.targets.push_back(std::move(entry));
  }
  return job;
}

void Collector::begin_slice(nanoseconds ended) {
  limit_overhead(ended);
  std::set<std::uint64_t> gone;
  for (auto& [id, target] : targets_.all()) {
    const nanoseconds swipr = target.swipr_before + swipr_cpu(target);
    const fleet::Usage usage{target.kernel_cpu - target.slice_cpu, swipr - target.slice_swipr};
    target.slice_swipr = swipr;
    const bool is_idle = target.start_ticks != 0 && !fleet::is_worth_recording(usage);
    if (target.stream && is_idle && !target.was_opened) {
      // What the process still sends is read in the next slice.
      streams_.request_end(*target.stream);
    }
    if (target.has_ended && !target.stream) gone.insert(id);
    target.slice_cpu = target.kernel_cpu;
    target.was_opened = target.was_closed = false;
    if (!target.stream) target.refusal.clear();  // it is tried again
  }
  for (const std::uint64_t id : gone) targets_.remove(id);
  if (streams_.is_full()) reopen_all();
  std::erase_if(target_of_stream_, [&](const auto& entry) { return gone.contains(entry.second); });
}

// A recording that began in the slice cost more than others will. A changed rate takes a new
// stream.
void Collector::limit_overhead(nanoseconds slice) {
  std::vector<AgentTarget*> measured;
  std::vector<fleet::RecordingCost> costs;
  for (auto& [id, target] : targets_.all()) {
    if (!target.stream || target.was_opened) continue;
    measured.push_back(&target);
    costs.push_back(
        {target.swipr_before + swipr_cpu(target) - target.slice_swipr, target.halvings});
  }
  const auto processors = std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L);
  const auto halvings =
      fleet::limit_overhead(costs, slice * processors * options_.max_host_overhead_permille / 1000);
  for (std::size_t index = 0; index < measured.size(); ++index) {
    AgentTarget& target = *measured[index];
    if (target.halvings == halvings[index]) continue;
    target.halvings = halvings[index];
    streams_.request_end(*target.stream);
  }
  std::size_t slowed = 0;
  for (const auto& [id, target] : targets_.all()) slowed += target.halvings != 0 ? 1 : 0;
  if (slowed != counters_.slowed) {
    log_.say(fmt::format("recorded less often, to stay below --max-host-overhead: {} of {}", slowed,
                         targets_.all().size()));
  }
  counters_.slowed = slowed;
}

// The few ticks that are in flight are lost, which the accounts say.
void Collector::reopen_all() {
  log_.say("the memory for stacks is full: all recordings begin again");
  for (auto& [id, target] : targets_.all()) {
    if (!target.stream) continue;
    target.swipr_before += swipr_cpu(target);
    streams_.close(*target.stream);
    target.stream.reset();
  }
  target_of_stream_.clear();
  streams_.forget();
  for (auto& [id, target] : targets_.all()) {
    if (!target.has_ended) target.is_known = false;  // look() opens it
  }
}

bool Collector::has_lost_all() const {
  return !options_.pids.empty() && has_seen_targets_ && counters_.targets == 0 && streams_.empty();
}

}  // namespace swipr::commands
