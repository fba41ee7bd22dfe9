// profile.proto of google/pprof, written with protozero.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/export/formats/export.h"
#include "cli/export/formats/lock_labels.h"
#include "cli/export/formats/pprof_tables.h"
#include "cli/export/formats/pprof_tags.h"
#include "cli/export/text/gzip.h"
#include "cli/export/text/text.h"
#include "cli/profile/call_split.h"
#include "cli/profile/group/aggregate.h"
#include "cli/profile/tables/machine_work.h"

namespace swipr::exporters {

namespace {

struct SampleType {
  profile::Weight weight;
  std::string_view name;
  std::string_view unit;
};
constexpr auto kSampleTypes = std::to_array<SampleType>({
    {profile::Weight::kSamples, "samples", "count"},
    {profile::Weight::kCpu, "cpu", "nanoseconds"},
    {profile::Weight::kWall, "wall", "nanoseconds"},
    {profile::Weight::kBlocked, "blocked", "nanoseconds"},
    {profile::Weight::kRunqueue, "runqueue", "nanoseconds"},
});

bool has_own_labels(const Options& options) {
  return options.pprof_labels == PprofLabels::kAll || options.pprof_labels == PprofLabels::kOwn;
}

class PprofWriter {
 public:
  // `call_of_stack`: profile::separate_calls(); empty: no labels of calls.
  PprofWriter(const profile::Recording& recording, const profile::Names& names,
              const Options& options, std::span<const std::uint32_t> call_of_stack = {})
      : recording_(recording),
        names_(names),
        call_of_stack_(call_of_stack),
        options_(options),
        weight_(options.weight.value_or(profile::natural_weight(recording))),
        tables_(recording, names),
        machine_(recording, names),
        locks_(recording, names),
        out_(bytes_) {}

  std::string write(std::span<const profile::MergedStack> merged) {
    choose_sample_types(merged);
    write_sample_types();
    for (const profile::MergedStack& stack : merged) write_sample(stack);
    tables_.write(out_);
    write_times();
    write_comments();
    tables_.write_strings(out_);
    return std::move(bytes_);
  }

 private:
  // The default is the last one, because speedscope ignores the default and shows the last one.
  void choose_sample_types(std::span<const profile::MergedStack> merged) {
    const SampleType* chosen = nullptr;
    const auto& only = options_.pprof_types;
    for (const SampleType& type : kSampleTypes) {
      if (type.weight == weight_) {
        chosen = &type;
        continue;
      }
      if (!only.empty()) {
        if (std::find(only.begin(), only.end(), type.weight) != only.end()) {
          sample_types_.push_back(&type);
        }
        continue;
      }
      const bool optional =
          type.weight == profile::Weight::kBlocked || type.weight == profile::Weight::kRunqueue;
      const bool seen = std::any_of(merged.begin(), merged.end(), [&type](const auto& stack) {
        return stack.weights[profile::index_of(type.weight)] != 0;
      });
      if (seen || !optional) sample_types_.push_back(&type);
    }
    sample_types_.push_back(chosen);
  }

  void write_value_type(ProfileTag tag, std::string_view name, std::string_view unit) {
    PprofBuilder<ValueTypeTag> type(out_, tag);
    type.add_int64(ValueTypeTag::kType, tables_.string(name));
    type.add_int64(ValueTypeTag::kUnit, tables_.string(unit));
  }

  void write_sample_types() {
    for (const SampleType* type : sample_types_) {
      write_value_type(ProfileTag::kSampleType, type->name, type->unit);
    }
    out_.add_int64(ProfileTag::kDefaultSampleType, tables_.string(sample_types_.back()->name));
  }

  std::vector<std::uint64_t> locations_of(const profile::MergedStack& merged) {
    std::vector<std::uint64_t> locations;
    if (options_.state_frames == StateFrames::kYes) {
      const std::string frame = state_frame(recording_, merged.state, merged.stack);
      if (!frame.empty()) locations.push_back(tables_.location(frame));
    }
    if (merged.stack == profile::kNone || recording_.stacks[merged.stack].frames.empty()) {
      locations.push_back(tables_.location(kNoStack));
      return locations;
    }
    const profile::Stack& stack = recording_.stacks[merged.stack];
    const std::size_t count = stack.frames.size();
    const std::size_t most = options_.pprof_max_frames;
    const std::size_t cut_at = most == 0 || count <= most ? count : most / 2;
    for (std::size_t index = 0; index < count; ++index) {
      if (index == cut_at) index = count - (most - cut_at - 1);
      if (index == stack.omitted_at || (cut_at < count && index == count - (most - cut_at - 1))) {
        locations.push_back(tables_.location(kOmittedFrames));
      }
      locations.push_back(tables_.location(stack.frames[index]));
    }
    if (stack.omitted_at == count) locations.push_back(tables_.location(kOmittedFrames));
    return locations;
  }

  void write_sample(const profile::MergedStack& merged) {
    const std::vector<std::uint64_t> locations = locations_of(merged);
    std::vector<std::int64_t> values;
    for (const SampleType* type : sample_types_) {
      const auto value = static_cast<std::int64_t>(merged.weights[profile::index_of(type->weight)]);
      const bool is_base =
          merged.thread != profile::kNone && options_.is_base(recording_.threads[merged.thread]);
      values.push_back(is_base ? -value : value);
    }
    PprofBuilder<SampleTag> sample(out_, ProfileTag::kSample);
    sample.add_packed_uint64(SampleTag::kLocationId, locations.begin(), locations.end());
    sample.add_packed_int64(SampleTag::kValue, values.begin(), values.end());
    if (options_.pprof_labels == PprofLabels::kThread) {
      add_label(sample, "thread", thread_name(recording_.threads[merged.thread]));
    } else if (options_.pprof_labels == PprofLabels::kAll) {
      write_labels(sample, merged);
    }
    if (has_own_labels(options_)) write_own_labels(sample, merged);
  }

  void write_own_labels(PprofBuilder<SampleTag>& sample, const profile::MergedStack& merged) {
    if (merged.labels == profile::kNone) return;
    for (const auto& [key, value] : recording_.label_sets[merged.labels]) {
      add_label(sample, clean_text(key), clean_text(value));
    }
  }

  void write_labels(PprofBuilder<SampleTag>& sample, const profile::MergedStack& merged) {
    const profile::Thread& thread = recording_.threads[merged.thread];
    // pprof recognizes samples of the base by this label and their sign.
    if (options_.is_base(thread)) add_label(sample, "pprof::base", "true");
    add_label(sample, "thread", thread_name(thread));
    add_number(sample, "tid", thread.tid.value);
    add_label(sample, "state", state_name(merged.state));
    if (const auto work = profile::machine_work_name(machine_.of(merged.thread, merged.stack));
        !work.empty()) {
      add_label(sample, "work", work);
    }
    if (merged.state == profile::State::kBlocked && merged.stack != profile::kNone) {
      write_wait_labels(sample, recording_.stacks[merged.stack]);
      write_lock_labels(sample, locks_.of(thread.process, merged.stack));
    }
    write_call_labels(sample, merged.stack);
    if (recording_.processes.size() > 1) {
      add_number(sample, "pid", recording_.processes[thread.process].pid.value);
    }
  }

  void write_wait_labels(PprofBuilder<SampleTag>& sample, const profile::Stack& stack) {
    if (!stack.wait_syscall.empty()) add_label(sample, "syscall", stack.wait_syscall);
    if (!stack.wait_channel.empty()) add_label(sample, "wait_channel", stack.wait_channel);
    if (const std::string wait = runtime_wait_text(recording_, stack); !wait.empty()) {
      add_label(sample, "waits_for", wait);
    }
    // Whether it waits for a lock of the C library is known with the names of its frames.
    if (stack.holder.value != 0 && !is_library_lock(stack.runtime_wait))
      add_number(sample, "holder_tid", stack.holder.value);
  }

  void write_lock_labels(PprofBuilder<SampleTag>& sample, const LockLabels::Labels& labels) {
    if (!labels.lock.empty()) add_label(sample, "lock", labels.lock);
    if (!labels.owner.empty()) add_label(sample, "lock_owner", labels.owner);
  }

  // Of the innermost traced call. Numbers of nanoseconds have their unit, so that
  // -tagfocus=call_ns=5ms: selects calls by their duration.
  void write_call_labels(PprofBuilder<SampleTag>& sample, std::uint32_t stack) {
    if (stack >= call_of_stack_.size() || call_of_stack_[stack] == profile::kNone) return;
    const profile::Call& call = recording_.calls[call_of_stack_[stack]];
    const std::uint32_t frame = recording_.traced[call.function].frame;
    if (frame == profile::kNone) return;
    add_label(sample, "call", names_.frames[frame].back().function);
    if (call.duration) add_number(sample, "call_ns", call.duration->count(), "nanoseconds");
  }

  void add_label(PprofBuilder<SampleTag>& sample, std::string_view key, std::string_view text) {
    const std::int64_t key_index = tables_.string(key);
    const std::int64_t text_index = tables_.string(text);
    PprofBuilder<LabelTag> label(sample, SampleTag::kLabel);
    label.add_int64(LabelTag::kKey, key_index);
    label.add_int64(LabelTag::kStr, text_index);
  }

  void add_number(PprofBuilder<SampleTag>& sample, std::string_view key, std::int64_t number,
                  std::string_view unit = {}) {
    const std::int64_t key_index = tables_.string(key);
    const std::int64_t unit_index = unit.empty() ? 0 : tables_.string(unit);
    PprofBuilder<LabelTag> label(sample, SampleTag::kLabel);
    label.add_int64(LabelTag::kKey, key_index);
    label.add_int64(LabelTag::kNum, number);
    if (unit_index != 0) label.add_int64(LabelTag::kNumUnit, unit_index);
  }

  // Always with a period and a duration: stores take a profile without them and break later.
  void write_times() {
    std::chrono::nanoseconds begin{0};
    std::chrono::nanoseconds end{0};
    std::chrono::nanoseconds period{0};
    for (const profile::Process& process : recording_.processes) {
      if (begin.count() == 0 || process.start_realtime < begin) begin = process.start_realtime;
      end = std::max(end, process.start_realtime + process.duration);
      if (period.count() == 0) period = process.interval;
    }
    out_.add_int64(ProfileTag::kTimeNanos, std::max<std::int64_t>(begin.count(), 0));
    out_.add_int64(ProfileTag::kDurationNanos, std::max<std::int64_t>((end - begin).count(), 1));
    const bool cpu = weight_ == profile::Weight::kCpu;
    const bool is_selection = !options_.pprof_types.empty();
    write_value_type(
        ProfileTag::kPeriodType,
        is_selection ? sample_types_.back()->name : std::string_view(cpu ? "cpu" : "wall"),
        "nanoseconds");
    out_.add_int64(ProfileTag::kPeriod, std::max<std::int64_t>(period.count(), 1));
  }

  void write_comments() {
    std::vector<std::string> comments{fmt::format("swipr {}", SWIPR_VERSION)};
    comments.push_back(counters());
    for (const std::string& warning : recording_.warnings) {
      comments.push_back(fmt::format("warning: {}", warning));
    }
    for (const std::string& comment : comments) {
      out_.add_int64(ProfileTag::kComment, tables_.string(comment));
    }
  }

  // "app (12): samples 5, ticks 5", for several processes their sums, because pprof prints
  // comments first. Counters that are 0 are omitted.
  std::string counters() const {
    std::map<std::string, std::uint64_t> sums;
    for (const profile::Process& process : recording_.processes) {
      for (const auto& [name, value] : process.totals) sums[name] += value;
    }
    std::erase_if(sums, [](const auto& entry) { return entry.second == 0; });
    std::string line = fmt::format("{} processes", recording_.processes.size());
    if (recording_.processes.size() == 1) {
      const profile::Process& process = recording_.processes.front();
      line = fmt::format("{} ({})", process.command_name, process.pid.value);
    }
    const char* separator = ": ";
    for (const auto& [name, value] : sums) {
      line += fmt::format("{}{} {}", std::exchange(separator, ", "), name, value);
    }
    return line;
  }

  const profile::Recording& recording_;
  const profile::Names& names_;
  std::span<const std::uint32_t> call_of_stack_;
  const Options& options_;
  profile::Weight weight_;  // the default sample type
  PprofTables tables_;
  profile::MachineWorkFinder machine_;
  LockLabels locks_;
  std::string bytes_;
  PprofBuilder<ProfileTag> out_;
  std::vector<const SampleType*> sample_types_;
};

std::vector<profile::MergedStack> merge(const profile::Recording& recording,
                                        const Options& options) {
  const bool by_state =
      options.pprof_labels == PprofLabels::kAll || options.state_frames == StateFrames::kYes;
  const bool by_thread =
      options.pprof_labels == PprofLabels::kAll || options.pprof_labels == PprofLabels::kThread;
  auto merged = profile::aggregate(
      recording,
      {.by_thread = by_thread, .by_state = by_state, .by_labels = has_own_labels(options)});
  // Stacks that differ in what they wait for only differ in labels.
  if (!by_state) profile::merge_equal_frames(recording, merged);
  return merged;
}

}  // namespace

host::Result<void> write_pprof(const profile::Recording& recording, const profile::Names& names,
                               const Options& options, Sink& sink) {
  std::string profile;
  if (options.pprof_labels == PprofLabels::kAll && !recording.calls.empty()) {
    profile::Recording by_call = recording;
    const auto call_of_stack = profile::separate_calls(by_call);
    profile = PprofWriter(by_call, names, options, call_of_stack).write(merge(by_call, options));
  } else {
    profile = PprofWriter(recording, names, options).write(merge(recording, options));
  }
  const auto compressed = write_gzip(profile, sink);
  if (!compressed) return compressed.error();
  return sink.flush();
}

std::vector<std::string> make_pprof_pieces(const profile::Recording& recording,
                                           const profile::Names& names, const Options& options,
                                           const PprofLimits& limits) {
  std::vector<profile::MergedStack> merged = merge(recording, options);
  std::erase_if(merged, [&options](const profile::MergedStack& stack) {
    const auto weighs = [&stack](profile::Weight weight) {
      return stack.weights[profile::index_of(weight)] != 0;
    };
    return std::none_of(options.pprof_types.begin(), options.pprof_types.end(), weighs);
  });
  std::vector<std::string> pieces;
  std::vector<std::span<const profile::MergedStack>> left;
  if (!merged.empty()) left.emplace_back(merged);
  while (!left.empty()) {
    const auto part = left.back();
    left.pop_back();
    std::string piece;
    if (part.size() <= limits.samples) piece = PprofWriter(recording, names, options).write(part);
    if (!piece.empty() && (piece.size() <= limits.bytes || part.size() == 1)) {
      pieces.push_back(std::move(piece));
      continue;
    }
    left.push_back(part.subspan(part.size() / 2));
    left.push_back(part.first(part.size() / 2));
  }
  return pieces;
}

}  // namespace swipr::exporters
