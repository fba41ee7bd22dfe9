#include "cli/commands/agent/slice_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "cli/commands/names/symbolize_recording.h"

namespace swipr::commands {

namespace {

using profile::kNone;

constexpr std::string_view kNotRecorded = "[not recorded]";

fleet::Identity identity_of(const TargetFacts& facts, const options::AgentOptions& options) {
  fleet::ProcessFacts process;
  process.command_name = facts.command_name;
  process.executable = facts.executable;
  if (options.identifies_applications) process.command_line = facts.command_line;
  process.argument_filters = options.argument_filters;
  process.cgroup = facts.cgroup;
  process.mountinfo = facts.mountinfo;
  process.service = facts.service;
  process.version = facts.version;
  process.labels = facts.labels;
  process.container = {facts.container_name, facts.pod, facts.pod_namespace, facts.pod_uid};
  return fleet::identify(process, options.push.service);
}

// Adds frames, stacks and samples of CPU time without stacks.
class Additions {
 public:
  Additions(SliceProfile& profile, const SliceJob& job)
      : profile_(profile),
        job_(job),
        texts_(std::make_shared<std::set<std::string, std::less<>>>()),
        earlier_texts_(profile.names.texts) {}

  void add_all() {
    std::vector<std::uint32_t> process_of_target(job_.targets.size(), kNone);
    for (std::uint32_t index = 0; index < profile_.recording.processes.size(); ++index) {
      const std::uint32_t target = profile_.target_of_process[index];
      if (target != kNone) process_of_target[target] = index;
    }
    for (std::size_t index = 0; index < job_.targets.size(); ++index) {
      const SliceTarget& target = job_.targets[index];
      const auto number = static_cast<std::uint32_t>(index);
      const auto process = [&] {
        if (process_of_target[index] == kNone) process_of_target[index] = add_process(number);
        return process_of_target[index];
      };
      add_share(process, fleet::Unrecorded::kSwipr, target.unrecorded.swipr);
      add_share(process, target.unrecorded.reason, target.unrecorded.other);
    }
    profile_.names.texts =
        std::make_shared<std::pair<std::shared_ptr<const void>, decltype(texts_)>>(earlier_texts_,
                                                                                   texts_);
  }

 private:
  std::uint32_t add_process(std::uint32_t target) {
    const TargetFacts& facts = job_.targets[target].facts;
    profile::Process process;
    process.pid = facts.pid;
    process.command_name = facts.command_name;
    process.executable = facts.executable;
    process.command_line = facts.command_line;
    process.start_realtime = job_.span.realtime;
    process.start_monotonic = job_.span.monotonic;
    process.duration = job_.span.duration;
    process.mode = profile::Mode::kCpu;
    process.complete = true;
    profile_.recording.processes.push_back(std::move(process));
    profile_.target_of_process.push_back(target);
    return static_cast<std::uint32_t>(profile_.recording.processes.size() - 1);
  }

  template <typename ProcessOf>
  void add_share(ProcessOf process, fleet::Unrecorded reason, std::chrono::nanoseconds cpu) {
    if (cpu.count() <= 0) return;
    profile::Recording& recording = profile_.recording;
    profile::Thread thread;
    thread.process = process();
    thread.name = kNotRecorded;
    recording.threads.push_back(thread);
    profile::Stack stack;
    stack.root_reached = true;
    stack.frames = {add_frame(thread.process, fmt::format("[{}]", unrecorded_name(reason))),
                    add_frame(thread.process, std::string(kNotRecorded))};
    recording.stacks.push_back(std::move(stack));
    profile::Sample sample;
    sample.time = job_.span.monotonic + job_.span.duration;
    sample.thread = static_cast<std::uint32_t>(recording.threads.size() - 1);
    sample.stack = static_cast<std::uint32_t>(recording.stacks.size() - 1);
    sample.state = profile::State::kRunning;
    sample.cpu = sample.wall = cpu;
    recording.samples.push_back(sample);
  }

  std::uint32_t add_frame(std::uint32_t process, std::string name) {
    profile::Frame frame;
    frame.process = process;
    profile_.recording.frames.push_back(frame);
    profile::NamedFrame named;
    named.function = *texts_->insert(std::move(name)).first;
    profile_.names.frames.push_back({named});
    return static_cast<std::uint32_t>(profile_.recording.frames.size() - 1);
  }

  SliceProfile& profile_;
  const SliceJob& job_;
  std::shared_ptr<std::set<std::string, std::less<>>> texts_;
  std::shared_ptr<const void> earlier_texts_;
};

}  // namespace

SliceProfile make_slice_profile(const SliceJob& job, const options::AgentOptions& options) {
  SliceProfile profile;
  profile.recording = fleet::cut_slice(*job.whole, job.samples, job.span).recording;
  profile::credit_cpu(profile.recording);
  NamedRecording named = symbolize_recording(profile.recording, options.symbols);
  profile.names = std::move(named.names);
  profile.notes = std::move(named.notes);
  for (const SliceTarget& target : job.targets) {
    profile.identities.push_back(identity_of(target.facts, options));
  }
  for (const profile::Process& process : profile.recording.processes) {
    const auto found = job.target_of_source.find(process.source);
    profile.target_of_process.push_back(
        found == job.target_of_source.end() ? kNone : static_cast<std::uint32_t>(found->second));
  }
  Additions(profile, job).add_all();
  return profile;
}

ProfilePart part_of(const SliceProfile& profile, const fleet::Span& span,
                    const std::vector<bool>& is_wanted) {
  std::vector<profile::Sample> samples;
  for (const profile::Sample& sample : profile.recording.samples) {
    const std::uint32_t process = profile.recording.threads[sample.thread].process;
    const std::uint32_t target = profile.target_of_process[process];
    if (target != kNone && is_wanted[target]) samples.push_back(sample);
  }
  fleet::Slice slice = fleet::cut_slice(profile.recording, samples, span);
  ProfilePart part{std::move(slice.recording), {}};
  part.names.texts = profile.names.texts;
  for (const std::uint32_t frame : slice.frames) {
    part.names.frames.push_back(profile.names.frames[frame]);
  }
  return part;
}

}  // namespace swipr::commands
