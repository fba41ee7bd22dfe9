// profile.proto of google/pprof, written with protozero.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/export/formats/export.h"
#include "cli/export/formats/pprof_tags.h"
#include "cli/export/text/gzip.h"
#include "cli/export/text/text.h"
#include "cli/profile/group/aggregate.h"

namespace swipr::exporters {

namespace {

template <typename Tag>
using Builder = protozero::pbf_builder<Tag>;

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

class PprofWriter {
 public:
  PprofWriter(const profile::Recording& recording, const profile::Names& names,
              const Options& options)
      : recording_(recording),
        names_(names),
        options_(options),
        weight_(options.weight.value_or(profile::natural_weight(recording))),
        out_(bytes_) {
    string_index("");  // required by the format as the first string
  }

  std::string write() {
    const auto merged = profile::aggregate(recording_);
    choose_sample_types(merged);
    write_sample_types();
    for (const profile::MergedStack& stack : merged) write_sample(stack);
    write_mappings();
    write_locations();
    write_times();
    write_comments();
    for (const std::string* text : strings_) out_.add_string(ProfileTag::kStringTable, *text);
    return std::move(bytes_);
  }

 private:
  std::int64_t string_index(std::string_view text) {
    const auto [place, is_new] =
        string_indexes_.try_emplace(clean_text(text), static_cast<std::int64_t>(strings_.size()));
    if (is_new) strings_.push_back(&place->first);
    return place->second;
  }

  // The default is the last one, because speedscope ignores the default and shows the last one.
  void choose_sample_types(const std::vector<profile::MergedStack>& merged) {
    const SampleType* chosen = nullptr;
    for (const SampleType& type : kSampleTypes) {
      if (type.weight == weight_) {
        chosen = &type;
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
    Builder<ValueTypeTag> type(out_, tag);
    type.add_int64(ValueTypeTag::kType, string_index(name));
    type.add_int64(ValueTypeTag::kUnit, string_index(unit));
  }

  void write_sample_types() {
    for (const SampleType* type : sample_types_) {
      write_value_type(ProfileTag::kSampleType, type->name, type->unit);
    }
    out_.add_int64(ProfileTag::kDefaultSampleType, string_index(sample_types_.back()->name));
  }

  void write_sample(const profile::MergedStack& merged) {
    std::vector<std::uint64_t> locations;
    if (options_.state_frames == StateFrames::kYes) {
      const std::string frame = state_frame(recording_, merged.state, merged.stack);
      if (!frame.empty()) locations.push_back(state_frame_id(frame));
    }
    if (merged.stack == profile::kNone || recording_.stacks[merged.stack].frames.empty()) {
      locations.push_back(no_stack_id());
    } else {
      const profile::Stack& stack = recording_.stacks[merged.stack];
      for (std::size_t index = 0; index < stack.frames.size(); ++index) {
        if (index == stack.omitted_at) locations.push_back(omitted_id());
        locations.push_back(location_id(stack.frames[index]));
      }
      if (stack.omitted_at == stack.frames.size()) locations.push_back(omitted_id());
    }
    std::vector<std::int64_t> values;
    for (const SampleType* type : sample_types_) {
      const auto value = static_cast<std::int64_t>(merged.weights[profile::index_of(type->weight)]);
      values.push_back(options_.is_base(recording_.threads[merged.thread]) ? -value : value);
    }
    Builder<SampleTag> sample(out_, ProfileTag::kSample);
    sample.add_packed_uint64(SampleTag::kLocationId, locations.begin(), locations.end());
    sample.add_packed_int64(SampleTag::kValue, values.begin(), values.end());
    write_labels(sample, merged);
  }

  void write_labels(Builder<SampleTag>& sample, const profile::MergedStack& merged) {
    const profile::Thread& thread = recording_.threads[merged.thread];
    // pprof recognizes samples of the base by this label and their sign.
    if (options_.is_base(thread)) add_label(sample, "pprof::base", "true");
    add_label(sample, "thread", thread_name(thread));
    add_number(sample, "tid", thread.tid.value);
    add_label(sample, "state", state_name(merged.state));
    if (merged.state == profile::State::kBlocked && merged.stack != profile::kNone) {
      write_wait_labels(sample, recording_.stacks[merged.stack]);
    }
    if (recording_.processes.size() > 1) {
      add_number(sample, "pid", recording_.processes[thread.process].pid.value);
    }
  }

  void write_wait_labels(Builder<SampleTag>& sample, const profile::Stack& stack) {
    if (stack.wait_syscall != profile::kNone) {
      add_label(sample, "syscall", syscall_text(stack.wait_syscall));
    }
    if (!stack.wait_channel.empty()) add_label(sample, "wait_channel", stack.wait_channel);
    if (const std::string wait = runtime_wait_text(stack); !wait.empty()) {
      add_label(sample, "waits_for", wait);
    }
    if (stack.holder.value != 0 && stack.runtime_wait != RuntimeWait::kMutex)
      add_number(sample, "holder_tid", stack.holder.value);
  }

  void add_label(Builder<SampleTag>& sample, std::string_view key, std::string_view text) {
    const std::int64_t key_index = string_index(key);
    const std::int64_t text_index = string_index(text);
    Builder<LabelTag> label(sample, SampleTag::kLabel);
    label.add_int64(LabelTag::kKey, key_index);
    label.add_int64(LabelTag::kStr, text_index);
  }

  void add_number(Builder<SampleTag>& sample, std::string_view key, std::int64_t number) {
    const std::int64_t key_index = string_index(key);
    Builder<LabelTag> label(sample, SampleTag::kLabel);
    label.add_int64(LabelTag::kKey, key_index);
    label.add_int64(LabelTag::kNum, number);
  }

  // pprof assumes that the first mapping is the program.
  void write_mappings() {
    std::vector<std::uint32_t> order(recording_.modules.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto is_program = [this](std::uint32_t index) {
      const profile::Module& module = recording_.modules[index];
      return module.path == recording_.processes[module.process].executable;
    };
    std::stable_partition(order.begin(), order.end(), is_program);
    const std::vector<Known> known = what_is_known();
    for (std::uint32_t index : order) write_mapping(index, known[index]);
  }

  // Which kinds of names the frames of a module have.
  struct Known {
    bool functions = false;
    bool files = false;
    bool lines = false;
  };
  std::vector<Known> what_is_known() const {
    std::vector<Known> known(recording_.modules.size());
    for (std::size_t frame = 0; frame < recording_.frames.size(); ++frame) {
      if (recording_.frames[frame].module == profile::kNone) continue;
      Known& module = known[recording_.frames[frame].module];
      for (const profile::NamedFrame& named : names_.frames[frame]) {
        module.functions |= !named.system_name.empty();
        module.files |= !named.file.empty();
        module.lines |= named.line != 0;
      }
    }
    return known;
  }

  void write_mapping(std::uint32_t index, const Known& known) {
    const profile::Module& module = recording_.modules[index];
    const std::int64_t path = string_index(module.path);
    const std::int64_t build_id = string_index(module.build_id);
    Builder<MappingTag> mapping(out_, ProfileTag::kMapping);
    mapping.add_uint64(MappingTag::kId, index + 1);
    mapping.add_uint64(MappingTag::kMemoryStart, module.start.value);
    mapping.add_uint64(MappingTag::kMemoryLimit, module.start.value + module.size_bytes);
    mapping.add_uint64(MappingTag::kFileOffset, module.file_offset.value);
    mapping.add_int64(MappingTag::kFilename, path);
    mapping.add_int64(MappingTag::kBuildId, build_id);
    // Without names, pprof may search for the file and its symbols.
    mapping.add_bool(MappingTag::kHasFunctions, known.functions);
    mapping.add_bool(MappingTag::kHasFilenames, known.files);
    mapping.add_bool(MappingTag::kHasLineNumbers, known.lines);
    mapping.add_bool(MappingTag::kHasInlineFrames, known.functions);
  }

  static std::uint64_t location_id(std::uint32_t frame) { return std::uint64_t{frame} + 1; }
  std::uint64_t omitted_id() const { return recording_.frames.size() + 1; }
  std::uint64_t no_stack_id() const { return recording_.frames.size() + 2; }

  std::uint64_t state_frame_id(const std::string& frame) {
    return state_frame_ids_.try_emplace(frame, no_stack_id() + 1 + state_frame_ids_.size())
        .first->second;
  }

  void write_locations() {
    for (std::uint32_t index = 0; index < recording_.frames.size(); ++index) {
      const profile::Frame& frame = recording_.frames[index];
      // As other producers of pprof files do: the byte before a return address, so that a
      // reader that symbolizes finds the call and not the next instruction.
      const bool has_address = !is_runtime_frame(frame.pc.value);
      write_location(
          location_id(index), frame.module == profile::kNone ? 0 : std::uint64_t{frame.module} + 1,
          has_address ? lookup_address(frame.pc.value, frame.kind) : 0, names_.frames[index]);
    }
    profile::NamedFrame pseudo;
    pseudo.function = kOmittedFrames;
    write_location(omitted_id(), 0, 0, {pseudo});
    pseudo.function = kNoStack;
    write_location(no_stack_id(), 0, 0, {pseudo});
    for (const auto& [frame, id] : state_frame_ids_) {
      pseudo.function = frame;
      write_location(id, 0, 0, {pseudo});
    }
  }

  void write_location(std::uint64_t id, std::uint64_t mapping, std::uint64_t address,
                      const profile::FrameNames& names) {
    std::vector<std::uint64_t> functions;
    for (const profile::NamedFrame& named : names) functions.push_back(function_id(named));
    Builder<LocationTag> location(out_, ProfileTag::kLocation);
    location.add_uint64(LocationTag::kId, id);
    if (mapping != 0) location.add_uint64(LocationTag::kMappingId, mapping);
    location.add_uint64(LocationTag::kAddress, address);
    for (std::size_t index = 0; index < names.size(); ++index) {
      Builder<LineTag> line(location, LocationTag::kLine);
      line.add_uint64(LineTag::kFunctionId, functions[index]);
      if (names[index].line != 0) line.add_int64(LineTag::kLine, names[index].line);
    }
  }

  // Writes the function on first use.
  std::uint64_t function_id(const profile::NamedFrame& named) {
    // The file of a runtime's function has a field of its own.
    const bool is_plain = profile::is_native(named) || named.system_name.empty();
    const std::int64_t name = string_index(is_plain ? named.function : named.system_name);
    const std::int64_t system_name =
        named.system_name.empty() ? name : string_index(named.system_name);
    const std::int64_t file = string_index(named.file);
    const auto [place, is_new] =
        functions_.try_emplace({name, system_name, file, named.start_line}, functions_.size() + 1);
    if (is_new) {
      Builder<FunctionTag> function(out_, ProfileTag::kFunction);
      function.add_uint64(FunctionTag::kId, place->second);
      function.add_int64(FunctionTag::kName, name);
      function.add_int64(FunctionTag::kSystemName, system_name);
      function.add_int64(FunctionTag::kFilename, file);
      if (named.start_line != 0) function.add_int64(FunctionTag::kStartLine, named.start_line);
    }
    return place->second;
  }

  void write_times() {
    if (recording_.processes.empty()) return;
    const profile::Process& first = recording_.processes.front();
    std::chrono::nanoseconds begin = first.start_realtime;
    std::chrono::nanoseconds end = begin;
    for (const profile::Process& process : recording_.processes) {
      begin = std::min(begin, process.start_realtime);
      end = std::max(end, process.start_realtime + process.duration);
    }
    out_.add_int64(ProfileTag::kTimeNanos, begin.count());
    out_.add_int64(ProfileTag::kDurationNanos, (end - begin).count());
    const bool cpu = weight_ == profile::Weight::kCpu;
    write_value_type(ProfileTag::kPeriodType, cpu ? "cpu" : "wall", "nanoseconds");
    out_.add_int64(ProfileTag::kPeriod, first.interval.count());
  }

  void write_comments() {
    std::vector<std::string> comments{fmt::format("swipr {}", SWIPR_VERSION)};
    comments.push_back(counters());
    for (const std::string& warning : recording_.warnings) {
      comments.push_back(fmt::format("warning: {}", warning));
    }
    for (const std::string& comment : comments) {
      out_.add_int64(ProfileTag::kComment, string_index(comment));
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
  const Options& options_;
  profile::Weight weight_;  // the default sample type
  std::string bytes_;
  Builder<ProfileTag> out_;
  std::vector<const SampleType*> sample_types_;
  std::unordered_map<std::string, std::int64_t> string_indexes_;
  std::vector<const std::string*> strings_;  // by index; keys of the map do not move
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::uint32_t>, std::uint64_t>
      functions_;
  std::map<std::string, std::uint64_t> state_frame_ids_;
};
}  // namespace

host::Result<void> write_pprof(const profile::Recording& recording, const profile::Names& names,
                               const Options& options, Sink& sink) {
  const auto compressed = write_gzip(PprofWriter(recording, names, options).write(), sink);
  if (!compressed) return compressed.error();
  return sink.flush();
}

}  // namespace swipr::exporters
