// gProfiler's format: collapsed stacks, each with the application that it is from.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/export/formats/col_header.h"
#include "cli/export/formats/collapsed_stacks.h"
#include "cli/export/text/json_text.h"
#include "cli/export/text/text.h"

namespace swipr::exporters {

namespace {

using Line = CollapsedStacks::Line;

// The indexer refuses frames that are empty or begin or end with a blank.
std::string col_frame(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "[unknown]";
  return frame_text(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::string col_frames(std::string_view frames) {
  std::string text;
  for (;;) {
    const std::size_t end = frames.find(';');
    text += col_frame(frames.substr(0, end));
    if (end == std::string_view::npos) return text;
    text += ';';
    frames.remove_prefix(end + 1);
  }
}

class ColWriter {
 public:
  ColWriter(const profile::Recording& recording, const profile::Names& names,
            const Options& options)
      : recording_(recording), options_(options), stacks_(recording, names, options) {}

  host::Result<void> write(Sink& sink) {
    const profile::Weight weight = options_.weight.value_or(profile::Weight::kCpu);
    std::vector<Line> lines = stacks_.collect(
        weight, [this](const profile::Thread& thread) { return root_of(thread.process); });
    if (weight != profile::Weight::kSamples) count_samples(lines);
    const bool is_cpu = weight == profile::Weight::kCpu;
    sink.write(format_col_header(recording_, options_, "[null" + applications_ + "]",
                                 is_cpu ? "cpu" : "wall"));
    for (const Line& line : lines) {
      if (line.own == 0) continue;
      sink.write(stacks_.root(line));
      sink.write(col_frames(stacks_.rest(line)));
      sink.write(fmt::format(" {}\n", line.own));
    }
    return sink.flush();
  }

 private:
  // "IDX;CONTAINER;COMM;appid: native: ARGV0 (EXE);"
  std::string root_of(std::uint32_t index) {
    const profile::Process& process = recording_.processes[index];
    const std::string first =
        process.command_line.empty() ? process.command_name : process.command_line.front();
    const bool is_known = index < options_.origins.size();
    const ColOrigin origin =
        is_known ? options_.origins[index]
                 : ColOrigin{"", fmt::format("native: {} ({})", first, process.executable)};
    const std::string id = "appid: " + origin.application;
    const auto [place, is_new] = application_indexes_.try_emplace(
        fmt::format("{};{}", process.command_name, id), application_indexes_.size() + 1);
    if (is_new) {
      applications_ += fmt::format(",{{\"execfn\":{},\"exe\":{}}}", json_string(first),
                                   json_string(process.executable));
    }
    const std::string container = origin.container.empty() ? "" : col_frame(origin.container);
    return fmt::format("{};{};{};{};", place->second, container, col_frame(process.command_name),
                       col_frame(id));
  }

  std::chrono::nanoseconds interval() const {
    constexpr std::chrono::milliseconds kUnknown(10);
    if (options_.col_interval.count() > 0) return options_.col_interval;
    for (const profile::Process& process : recording_.processes) {
      if (process.interval.count() > 0) return process.interval;
    }
    return kUnknown;
  }

  // Nanoseconds become samples at the rate of the recording. The lines of an application sum up to
  // its time: what is lost by rounding down goes to those with the largest remainders.
  void count_samples(std::vector<Line>& lines) const {
    const auto interval_ns = static_cast<std::uint64_t>(interval().count());
    for (auto begin = lines.begin(); begin != lines.end();) {
      const auto end = std::find_if(begin, lines.end(),
                                    [begin](const Line& line) { return line.root != begin->root; });
      count_samples({begin, end}, interval_ns);
      begin = end;
    }
  }

  static void count_samples(std::span<Line> lines, std::uint64_t interval_ns) {
    std::uint64_t total_ns = 0;
    std::uint64_t counted = 0;
    std::vector<std::pair<std::uint64_t, std::size_t>> remainders;
    for (std::size_t index = 0; index < lines.size(); ++index) {
      total_ns += lines[index].own;
      remainders.emplace_back(lines[index].own % interval_ns, index);
      counted += lines[index].own /= interval_ns;
    }
    const std::uint64_t wanted = (total_ns + interval_ns / 2) / interval_ns;
    std::sort(remainders.begin(), remainders.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t rank = 0; rank < remainders.size() && counted < wanted; ++rank, ++counted) {
      ++lines[remainders[rank].second].own;
    }
  }

  const profile::Recording& recording_;
  const Options& options_;
  CollapsedStacks stacks_;
  std::unordered_map<std::string, std::size_t> application_indexes_;
  std::string applications_;  // ",{…},{…}"
};

}  // namespace

host::Result<void> write_col(const profile::Recording& recording, const profile::Names& names,
                             const Options& options, Sink& sink) {
  Options marked = options;
  marked.frame_kinds = true;  // its readers colour frames by these suffixes
  return ColWriter(recording, names, marked).write(sink);
}

}  // namespace swipr::exporters
