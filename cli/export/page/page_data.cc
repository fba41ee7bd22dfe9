#include "cli/export/page/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/export/page/page_locks.h"
#include "cli/export/page/page_sources.h"
#include "cli/export/text/json_text.h"
#include "cli/export/text/text.h"
#include "cli/profile/group/stack_tree.h"
#include "cli/profile/group/time_slices.h"
#include "cli/profile/tables/machine_work.h"

namespace swipr::exporters {

namespace {

// Enough for a screen that shows a fourth of the time; more rows make the page slow.
constexpr std::uint32_t kMaxSlices = 4'000;
constexpr std::size_t kMaxRows = 250'000;

class PageData {
 public:
  PageData(const profile::Recording& recording, const profile::Names& names, const Options& options,
           Sink& sink)
      : recording_(recording),
        names_(names),
        options_(options),
        sink_(sink),
        locks_(find_page_locks(recording, names)),
        sliced_(profile::slice_samples(recording, kMaxSlices, kMaxRows,
                                       locks_of_samples(recording, locks_))),
        tree_(recording, names, profile::StackTree::Detail::kFunction),
        lines_(recording, names, profile::StackTree::Detail::kLine) {}

  void write() {
    place_rows();
    sink_.write(fmt::format("{{\"format\":1,\n\"generator\":\"swipr {}\",\n\"title\":{},\n",
                            SWIPR_VERSION, json_string(recording_title(recording_))));
    sink_.write(fmt::format("\"duration_ns\":{},\n\"slices\":{},\n\"weight\":\"{}\",\n",
                            sliced_.duration.count(), sliced_.slice_count,
                            weight_name(initial_weight())));
    sink_.write(fmt::format("\"inverted\":{},\n", options_.inverted));
    if (compares()) sink_.write(fmt::format("\"base_scale\":{:.9g},\n", base_scale()));
    write_processes();
    write_threads();
    write_functions();
    write_nodes();
    write_lines();
    write_leaves();
    if (options_.source_lines) write_page_sources(recording_, lines_.places(), sink_);
    write_rows();
    write_page_locks(locks_, recording_, names_, sink_);
    write_json_array(sink_, "warnings", recording_.warnings, json_string);
    sink_.write("}\n");
  }

 private:
  // The weight shown first: CPU time, or samples if there are no CPU times.
  profile::Weight initial_weight() const {
    if (options_.weight) return *options_.weight;
    for (const profile::SlicedRow& row : sliced_.rows) {
      if (row.weights[profile::index_of(profile::Weight::kCpu)] != 0) return profile::Weight::kCpu;
    }
    return profile::Weight::kSamples;
  }

  void place_rows() {
    profile::MachineWorkFinder machine(recording_, names_);
    nodes_.reserve(sliced_.rows.size());
    for (const profile::SlicedRow& row : sliced_.rows) {
      std::uint32_t node = tree_.node_of(row.stack);
      std::uint32_t leaf = lines_.node_of(row.stack);
      std::uint64_t address = leaf_address(row.stack);
      if (options_.state_frames != StateFrames::kNo) {
        const std::string frame = state_frame(recording_, row.state, row.stack);
        if (!frame.empty()) {
          node = tree_.pseudo_child(node, frame);
          leaf = lines_.pseudo_child(leaf, frame);
          address = 0;
        }
      }
      nodes_.push_back(node);
      leaf_of_row_.push_back(leaf_index(leaf, address));
      works_.push_back(static_cast<unsigned>(machine.of(row.thread, row.stack)));
      match_lines(leaf, node);
    }
  }

  // Where the innermost function was, as its ELF file says it; 0: not known, or not native.
  std::uint64_t leaf_address(std::uint32_t stack) const {
    if (stack == profile::kNone || recording_.stacks[stack].frames.empty()) return 0;
    const profile::Frame& frame = recording_.frames[recording_.stacks[stack].frames.front()];
    if (frame.module == profile::kNone || frame.function != profile::kNone) return 0;
    return frame.pc.value - recording_.modules[frame.module].load_bias;
  }

  std::uint32_t leaf_index(std::uint32_t node, std::uint64_t address) {
    const auto next = static_cast<std::uint32_t>(leaves_.size());
    const auto [found, is_new] = leaf_index_.try_emplace({node, address}, next);
    if (is_new) leaves_.emplace_back(node, address);
    return found->second;
  }

  // Both trees have a node per frame, so that they are walked in step.
  void match_lines(std::uint32_t leaf, std::uint32_t node) {
    node_of_line_.resize(lines_.nodes().size(), profile::kNone);
    while (leaf != profile::kNone && node_of_line_[leaf] == profile::kNone) {
      node_of_line_[leaf] = node;
      leaf = lines_.nodes()[leaf].parent;
      node = tree_.nodes()[node].parent;
    }
  }

  bool compares() const { return options_.first_base_process != profile::kNone; }

  // What times of the base are multiplied with to be those of a recording that is as long.
  double base_scale() const {
    std::chrono::nanoseconds now{0};
    std::chrono::nanoseconds before{0};
    for (std::uint32_t index = 0; index < recording_.processes.size(); ++index) {
      auto& longest = index >= options_.first_base_process ? before : now;
      longest = std::max(longest, recording_.processes[index].duration);
    }
    if (now.count() <= 0 || before.count() <= 0) return 1;
    return std::chrono::duration<double>(now) / before;
  }

  void write_processes() {
    write_json_array(sink_, "processes", recording_.processes, [](const profile::Process& process) {
      std::string totals;
      for (const auto& [name, value] : process.totals) {
        totals += fmt::format("{}{}:{}", totals.empty() ? "" : ",", json_string(name), value);
      }
      return fmt::format(
          "{{\"pid\":{},\"command\":{},\"interval_ns\":{},\"duration_ns\":{},\"complete\":{},"
          "\"totals\":{{{}}}}}",
          process.pid.value, json_string(process.command_name), process.interval.count(),
          process.duration.count(), process.complete, totals);
    });
    sink_.write(",\n");
  }

  void write_threads() {
    sink_.write("\"threads\":{");
    write_json_array(sink_, "name", recording_.threads, [](const profile::Thread& thread) {
      return json_string(thread_name(thread));
    });
    sink_.write(",\n");
    write_json_array(sink_, "tid", recording_.threads,
                     [](const profile::Thread& thread) { return thread.tid.value; });
    sink_.write(",\n");
    write_json_array(sink_, "process", recording_.threads,
                     [](const profile::Thread& thread) { return thread.process; });
    if (compares()) {
      sink_.write(",\n");
      write_json_array(sink_, "base", recording_.threads, [this](const profile::Thread& thread) {
        return options_.is_base(thread) ? 1 : 0;
      });
    }
    sink_.write("},\n");
  }

  void write_functions() {
    using Place = profile::StackTree::Place;
    write_json_array(sink_, "modules", recording_.modules,
                     [](const profile::Module& module) { return json_string(module.path); });
    sink_.write(",\n");
    write_json_array(sink_, "own", recording_.modules, [this](const profile::Module& module) {
      return module.path == recording_.processes[module.process].executable ? 1 : 0;
    });
    sink_.write(",\n\"functions\":{");
    write_json_array(sink_, "name", tree_.places(),
                     [](const Place& place) { return json_string(place.function); });
    sink_.write(",\n");
    write_json_array(sink_, "module", tree_.places(),
                     [](const Place& place) { return json_index(place.module); });
    sink_.write(",\n");
    write_json_array(sink_, "language", tree_.places(), [](const Place& place) {
      return json_string(place.language == Language::kNative ? "" : language_name(place.language));
    });
    sink_.write(",\n");
    write_json_array(sink_, "file", tree_.places(),
                     [](const Place& place) { return json_string(place.file); });
    sink_.write(",\n");
    write_json_array(sink_, "line", tree_.places(),
                     [](const Place& place) { return place.start_line; });
    sink_.write(",\n");
    write_json_array(sink_, "code", tree_.places(),
                     [](const Place& place) { return place.is_code ? 1 : 0; });
    sink_.write("},\n");
  }

  void write_nodes() {
    using Node = profile::StackTree::Node;
    sink_.write("\"nodes\":{");
    write_json_array(sink_, "parent", tree_.nodes(),
                     [](const Node& node) { return static_cast<std::int32_t>(node.parent); });
    sink_.write(",\n");
    write_json_array(sink_, "function", tree_.nodes(), [](const Node& node) { return node.place; });
    sink_.write("},\n");
  }

  // Nodes by line: their callers, their nodes by function, their lines.
  void write_lines() {
    using Node = profile::StackTree::Node;
    sink_.write("\"lines\":{");
    write_json_array(sink_, "parent", lines_.nodes(),
                     [](const Node& node) { return static_cast<std::int32_t>(node.parent); });
    sink_.write(",\n");
    write_json_array(sink_, "node", node_of_line_, [](std::uint32_t node) { return node; });
    sink_.write(",\n");
    write_json_array(sink_, "line", lines_.nodes(),
                     [this](const Node& node) { return lines_.places()[node.place].line; });
    sink_.write("},\n");
  }

  // What stacks end in: a node by line, and an address of its module.
  void write_leaves() {
    sink_.write("\"leaves\":{");
    write_json_array(sink_, "node", leaves_, [](const auto& leaf) { return leaf.first; });
    sink_.write(",\n");
    write_json_array(sink_, "address", leaves_, [](const auto& leaf) { return leaf.second; });
    sink_.write("},\n");
  }

  void write_rows() {
    using Row = profile::SlicedRow;
    sink_.write("\"rows\":{");
    const auto column = [this](std::string_view name, auto value_of) {
      write_json_array(sink_, name, sliced_.rows, value_of);
      sink_.write(",\n");
    };
    column("thread", [](const Row& row) { return row.thread; });
    column("state", [](const Row& row) { return static_cast<unsigned>(row.state); });
    column("first", [](const Row& row) { return row.first_slice; });
    column("last", [](const Row& row) { return row.last_slice; });
    for (std::size_t index = 0; index < profile::kWeightCount; ++index) {
      column(weight_name(static_cast<profile::Weight>(index)),
             [index](const Row& row) { return row.weights[index]; });
    }
    column("offset", [](const Row& row) { return row.offset.count(); });
    column("credited", [](const Row& row) { return row.credited.count(); });
    if (!locks_.empty())
      column("lock", [](const Row& row) { return static_cast<std::int32_t>(row.mark); });
    if (std::any_of(works_.begin(), works_.end(), [](unsigned work) { return work != 0; })) {
      write_json_array(sink_, "work", works_, [](unsigned work) { return work; });
      sink_.write(",\n");
    }
    write_json_array(sink_, "leaf", leaf_of_row_, [](std::uint32_t leaf) { return leaf; });
    sink_.write(",\n");
    write_json_array(sink_, "node", nodes_, [](std::uint32_t node) { return node; });
    sink_.write("},\n");
  }

  const profile::Recording& recording_;
  const profile::Names& names_;
  const Options& options_;
  Sink& sink_;
  std::vector<PageLock> locks_;
  profile::SlicedSamples sliced_;  // marks: indexes of locks_
  profile::StackTree tree_;
  profile::StackTree lines_;
  std::vector<std::uint32_t> nodes_;                             // by row
  std::vector<unsigned> works_;                                  // MachineWork, by row
  std::vector<std::pair<std::uint32_t, std::uint64_t>> leaves_;  // nodes of lines_, addresses
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> leaf_index_;
  std::vector<std::uint32_t> leaf_of_row_;   // in leaves_, by row
  std::vector<std::uint32_t> node_of_line_;  // node of tree_ by node of lines_
};

}  // namespace

void write_page_data(const profile::Recording& recording, const profile::Names& names,
                     const Options& options, Sink& sink) {
  PageData(recording, names, options, sink).write();
}

}  // namespace swipr::exporters
