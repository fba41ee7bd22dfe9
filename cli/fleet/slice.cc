#include "cli/fleet/slice.h"

#include <algorithm>

namespace swipr::fleet {

namespace {

using profile::kNone;

// New indexes of one kind of entries, in order of first use.
class Renumbering {
 public:
  explicit Renumbering(std::size_t count) : numbers_(count, kNone) {}

  std::uint32_t of(std::uint32_t old) {
    if (old >= numbers_.size()) return kNone;
    if (numbers_[old] == kNone) {
      numbers_[old] = static_cast<std::uint32_t>(used_.size());
      used_.push_back(old);
    }
    return numbers_[old];
  }
  // Old indexes by new ones; grows while of() is called.
  const std::vector<std::uint32_t>& used() const { return used_; }

 private:
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> used_;
};

class Cutter {
 public:
  Cutter(const profile::Recording& whole, const Span& span)
      : whole_(whole),
        span_(span),
        processes_(whole.processes.size()),
        modules_(whole.modules.size()),
        functions_(whole.functions.size()),
        frames_(whole.frames.size()),
        stacks_(whole.stacks.size()),
        label_sets_(whole.label_sets.size()),
        threads_(whole.threads.size()) {}

  // Each kind refers only to those that are copied after it.
  Slice cut(std::span<const profile::Sample> samples) {
    for (profile::Sample sample : samples) {
      sample.thread = threads_.of(sample.thread);
      if (sample.thread == kNone) continue;
      sample.stack = stacks_.of(sample.stack);
      sample.labels = label_sets_.of(sample.labels);
      result_.samples.push_back(sample);
    }
    std::stable_sort(result_.samples.begin(), result_.samples.end(),
                     [](const auto& a, const auto& b) { return a.time < b.time; });
    copy_stacks();
    copy_frames();
    for (const std::uint32_t old : label_sets_.used()) {
      result_.label_sets.push_back(whole_.label_sets[old]);
    }
    for (const std::uint32_t old : threads_.used()) {
      profile::Thread thread = whole_.threads[old];
      thread.process = processes_.of(thread.process);
      result_.threads.push_back(std::move(thread));
    }
    copy_code();
    copy_processes();
    return {std::move(result_), processes_.used(), frames_.used()};
  }

 private:
  void copy_stacks() {
    for (const std::uint32_t old : stacks_.used()) {
      profile::Stack stack = whole_.stacks[old];
      for (std::uint32_t& frame : stack.frames) frame = frames_.of(frame);
      result_.stacks.push_back(std::move(stack));
    }
  }

  void copy_frames() {
    for (const std::uint32_t old : frames_.used()) {
      profile::Frame frame = whole_.frames[old];
      frame.process = processes_.of(frame.process);
      frame.module = modules_.of(frame.module);
      frame.function = functions_.of(frame.function);
      result_.frames.push_back(frame);
    }
  }

  void copy_code() {
    for (const std::uint32_t old : modules_.used()) {
      profile::Module module = whole_.modules[old];
      module.process = processes_.of(module.process);
      result_.modules.push_back(std::move(module));
    }
    for (const std::uint32_t old : functions_.used()) {
      profile::Function function = whole_.functions[old];
      function.process = processes_.of(function.process);
      result_.functions.push_back(std::move(function));
    }
  }

  void copy_processes() {
    for (const std::uint32_t old : processes_.used()) {
      profile::Process process = whole_.processes[old];
      process.start_realtime = span_.realtime;
      process.start_monotonic = span_.monotonic;
      process.duration = span_.duration;
      process.complete = true;
      process.totals.clear();  // they count from the beginning of the stream
      result_.processes.push_back(std::move(process));
    }
  }

  const profile::Recording& whole_;
  const Span& span_;
  Renumbering processes_, modules_, functions_, frames_, stacks_, label_sets_, threads_;
  profile::Recording result_;
};

}  // namespace

Slice cut_slice(const profile::Recording& whole, std::span<const profile::Sample> samples,
                const Span& span) {
  return Cutter(whole, span).cut(samples);
}

}  // namespace swipr::fleet
