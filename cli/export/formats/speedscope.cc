// The JSON format of speedscope: a profile per thread, samples in order of time.
// Source: https://www.speedscope.app/file-format-schema.json
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/export/formats/export.h"
#include "cli/export/text/json_text.h"
#include "cli/export/text/text.h"
#include "cli/profile/group/stack_tree.h"
#include "cli/profile/group/time_slices.h"
#include "cli/profile/tables/thread_times.h"

namespace swipr::exporters {

namespace {

// Consecutive samples of one thread with one stack.
struct Span {
  std::uint32_t node;  // kNone: no sample for this time
  std::uint64_t weight;
};

struct Timeline {
  std::chrono::nanoseconds begin{0};  // since the start of the recording
  std::vector<Span> spans;
  std::uint64_t total = 0;
};

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const profile::Recording& recording, const profile::Names& names,
                   const Options& options, Sink& sink)
      : recording_(recording),
        options_(options),
        weight_(options.weight.value_or(profile::Weight::kWall)),
        sink_(sink),
        tree_(recording, names, profile::StackTree::Detail::kFunction),
        timelines_(recording.threads.size()) {}

  host::Result<void> write() {
    collect();
    sink_.write(
        fmt::format("{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                    "\"exporter\":\"swipr {}\",\n\"name\":{},\n\"activeProfileIndex\":0,\n",
                    SWIPR_VERSION, json_string(recording_title(recording_))));
    write_frames();
    sink_.write("\"profiles\":[");
    const char* separator = "\n";
    for (const auto& times : profile::thread_times(recording_)) {  // the busiest first
      if (timelines_[times.thread].total == 0) continue;
      sink_.write(separator);
      write_thread(times.thread);
      separator = ",\n";
    }
    sink_.write("]}\n");
    return sink_.flush();
  }

 private:
  void collect() {
    const auto begin = profile::extent_of(recording_).begin;
    for (const profile::Sample& sample : recording_.samples) {
      const std::uint64_t weight = profile::weight_of(sample, weight_);
      if (weight == 0) continue;
      const std::uint32_t node = node_of(sample);
      Timeline& timeline = timelines_[sample.thread];
      if (timeline.spans.empty()) timeline.begin = sample.time - sample.wall - begin;
      if (weight_ == profile::Weight::kWall) {
        // Time without samples is written as empty, so that later samples keep their time.
        const auto end = timeline.begin.count() + static_cast<std::int64_t>(timeline.total);
        const std::int64_t gap = (sample.time - sample.wall - begin).count() - end;
        if (gap > 0) add(timeline, profile::kNone, static_cast<std::uint64_t>(gap));
      }
      add(timeline, node, weight);
    }
  }

  static void add(Timeline& timeline, std::uint32_t node, std::uint64_t weight) {
    if (timeline.spans.empty() || timeline.spans.back().node != node) {
      timeline.spans.push_back({node, 0});
    }
    timeline.spans.back().weight += weight;
    timeline.total += weight;
  }

  std::uint32_t node_of(const profile::Sample& sample) {
    const std::uint32_t node = tree_.node_of(sample.stack);
    if (options_.state_frames == StateFrames::kNo) return node;
    const std::string state = state_frame(recording_, sample.state, sample.stack);
    return state.empty() ? node : tree_.pseudo_child(node, state);
  }

  void write_frames() {
    sink_.write("\"shared\":{");
    write_json_array(sink_, "frames", tree_.places(), [](const profile::StackTree::Place& place) {
      std::string frame = fmt::format("\n{{\"name\":{}", json_string(place.function));
      if (!place.file.empty()) frame += fmt::format(",\"file\":{}", json_string(place.file));
      if (place.start_line != 0) frame += fmt::format(",\"line\":{}", place.start_line);
      return frame + "}";
    });
    sink_.write("},\n");
  }

  // "[root,…,innermost]", cached by node.
  const std::string& path_of(std::uint32_t node) {
    static const std::string kEmpty = "[]";
    if (node == profile::kNone) return kEmpty;
    if (paths_.size() < tree_.nodes().size()) paths_.resize(tree_.nodes().size());
    std::string& path = paths_[node];
    if (!path.empty()) return path;
    std::vector<std::uint32_t> places;
    for (std::uint32_t at = node; at != profile::kNone; at = tree_.nodes()[at].parent) {
      places.push_back(tree_.nodes()[at].place);
    }
    path = fmt::format("[{}]", fmt::join(places.rbegin(), places.rend(), ","));
    return path;
  }

  void write_thread(std::uint32_t index) {
    const profile::Thread& thread = recording_.threads[index];
    const Timeline& timeline = timelines_[index];
    const bool counts = weight_ == profile::Weight::kSamples;
    const std::uint64_t begin = counts ? 0 : static_cast<std::uint64_t>(timeline.begin.count());
    sink_.write(fmt::format(
        "{{\"type\":\"sampled\",\"name\":{},\"unit\":\"{}\",\"startValue\":{},\"endValue\":{},\n",
        json_string(fmt::format("{} ({})", thread_name(thread), thread.tid.value)),
        counts ? "none" : "nanoseconds", begin, begin + timeline.total));
    write_json_array(sink_, "samples", timeline.spans,
                     [this](const Span& span) -> const std::string& { return path_of(span.node); });
    sink_.write(",\n");
    write_json_array(sink_, "weights", timeline.spans,
                     [](const Span& span) { return span.weight; });
    sink_.write("}");
  }

  const profile::Recording& recording_;
  const Options& options_;
  profile::Weight weight_;
  Sink& sink_;
  profile::StackTree tree_;
  std::vector<Timeline> timelines_;  // by thread
  std::vector<std::string> paths_;   // by node
};

}  // namespace

host::Result<void> write_speedscope(const profile::Recording& recording,
                                    const profile::Names& names, const Options& options,
                                    Sink& sink) {
  return SpeedscopeWriter(recording, names, options, sink).write();
}

}  // namespace swipr::exporters
