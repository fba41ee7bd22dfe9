// The Firefox Profiler's processed profile, version 60, gzipped.
// Source: https://github.com/firefox-devtools/profiler: src/types/profile.ts and
// docs-developer/CHANGELOG-formats.md. The profiler converts older versions, so this one remains
// readable.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/export/formats/export.h"
#include "cli/export/formats/firefox_stacks.h"
#include "cli/export/text/gzip.h"
#include "cli/export/text/json_text.h"
#include "cli/export/text/text.h"
#include "cli/profile/group/stack_tree.h"
#include "cli/profile/group/time_slices.h"
#include "cli/profile/tables/machine_work.h"
#include "cli/profile/tables/thread_times.h"

namespace swipr::exporters {

namespace {

using profile::kNone;
using Place = profile::StackTree::Place;
using Node = profile::StackTree::Node;

// Indexes: enum Category. Those of languages follow.
constexpr std::string_view kCategories =
    R"([{"name":"On CPU","color":"green","subcategories":["Other"]},)"
    R"({"name":"Waiting for CPU","color":"orange","subcategories":["Other"]},)"
    R"({"name":"Blocked","color":"blue","subcategories":["Other"]},)"
    R"({"name":"Unknown","color":"grey","subcategories":["Other"]},)"
    R"({"name":"Garbage collection","color":"brown","subcategories":["Other"]},)"
    R"({"name":"Compiler","color":"lightgreen","subcategories":["Other"]},)"
    R"({"name":"Virtual machine","color":"darkgrey","subcategories":["Other"]})";

struct LanguageCategory {
  Language language = Language::kNative;
  std::string_view name;
  std::string_view color;
};
constexpr std::array<LanguageCategory, 8> kLanguageCategories = {{
    {Language::kPython, "Python", "purple"},
    {Language::kJava, "Java", "red"},
    {Language::kJavaScript, "JavaScript", "yellow"},
    {Language::kRuby, "Ruby", "magenta"},
    {Language::kPhp, "PHP", "lightblue"},
    {Language::kPerl, "Perl", "lightred"},
    {Language::kR, "R", "lightblue"},
    {Language::kLua, "Lua", "blue"},
}};

std::string categories_json() {
  std::string text(kCategories);
  for (const LanguageCategory& category : kLanguageCategories) {
    text += fmt::format(R"(,{{"name":"{}","color":"{}","subcategories":["Other"]}})", category.name,
                        category.color);
  }
  return text + "]";
}

constexpr unsigned kLibraryResource = 1;

double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string_view machine_name(std::uint64_t machine) {
  if (machine == EM_X86_64) return "x86_64";
  return machine == EM_AARCH64 ? "aarch64" : "unknown";
}

struct Entry {
  std::chrono::nanoseconds time{0};  // since the start of the recording
  std::uint32_t node = kNone;
  std::uint64_t weight = 0;
  std::uint64_t cpu_ns = 0;
};

class FirefoxWriter {
 public:
  FirefoxWriter(const profile::Recording& recording, const profile::Names& names,
                const Options& options)
      : recording_(recording),
        weight_(options.weight_or_samples()),
        extent_(profile::extent_of(recording)),
        machine_(recording, names),
        tree_(recording, names, profile::StackTree::Detail::kLine),
        stacks_(tree_),
        entries_(recording.threads.size()) {}

  std::string write() {
    for (const profile::Sample& sample : recording_.samples) add(sample);
    out_.write("{");
    write_meta();
    write_libraries();
    out_.write(",\n\"pages\":[],\n\"counters\":[],\n\"threads\":[");
    const char* separator = "\n";
    for (std::uint32_t index = 0; index < recording_.threads.size(); ++index) {
      if (entries_[index].empty()) continue;
      out_.write(std::exchange(separator, ",\n"));
      write_thread(index);
    }
    out_.write("],\n\"shared\":{");
    write_stacks();
    write_frames();
    write_functions();
    write_resources();
    out_.write(R"("nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],)"
               R"("functionSize":[]},)");
    out_.write("\n");
    write_sources();
    write_json_array(out_, "stringArray", strings_,
                     [](const std::string* text) { return json_string(*text); });
    out_.write("}}\n");
    return std::move(out_.text);
  }

 private:
  std::uint32_t string_index(std::string_view text) {
    const auto [place, is_new] =
        string_indexes_.try_emplace(std::string(text), static_cast<std::uint32_t>(strings_.size()));
    if (is_new) strings_.push_back(&place->first);
    return place->second;
  }

  // A run of ticks is written with its start and its end; the profiler draws one colour between
  // them.
  void add(const profile::Sample& sample) {
    Entry entry;
    entry.node = node_of(sample);
    entry.weight = profile::weight_of(sample, weight_);
    entry.cpu_ns = profile::weight_of(sample, profile::Weight::kCpu);
    std::vector<Entry>& entries = entries_[sample.thread];
    // The profiler attributes CPU time to the time since the previous sample, so the first needs
    // one.
    if (entries.empty()) entries.push_back({sample.time - sample.wall - extent_.begin, kNone});
    if (sample.ticks > 1) {
      const auto ticks = static_cast<std::int64_t>(sample.ticks);
      entry.time = sample.time - sample.wall + sample.wall / ticks - extent_.begin;
      const std::uint64_t rest = entry.weight - entry.weight / sample.ticks;
      entry.weight -= rest;
      entries.push_back(std::exchange(entry, Entry{{}, entry.node, rest, 0}));
    }
    entry.time = sample.time - extent_.begin;
    entries.push_back(entry);
  }

  // The state is a separate frame, because categories belong to frames.
  std::uint32_t node_of(const profile::Sample& sample) {
    const std::uint32_t node = tree_.node_of(sample.stack);
    const std::string state = state_frame(recording_, sample.state, sample.stack);
    if (state.empty()) return stacks_.marked(node, machine_.of(sample));
    const std::uint32_t child = tree_.pseudo_child(node, state);
    category_of_place_[tree_.nodes()[child].place] =
        sample.state == profile::State::kRunnable ? kWaitingForCpu : kBlocked;
    return child;
  }

  unsigned category_of(std::uint32_t place) const {
    const auto found = category_of_place_.find(place);
    if (found != category_of_place_.end()) return found->second;
    const Place& code = tree_.places()[place];
    if (code.is_collector) return kCollector;
    const auto* const language =
        std::find_if(kLanguageCategories.begin(), kLanguageCategories.end(),
                     [&](const auto& category) { return category.language == code.language; });
    if (language != kLanguageCategories.end()) {
      return kFirstLanguage + static_cast<unsigned>(language - kLanguageCategories.begin());
    }
    return code.is_code ? kOnCpu : kNotKnown;
  }

  void write_meta() {
    const profile::Process first =
        recording_.processes.empty() ? profile::Process() : recording_.processes.front();
    const auto start = first.start_realtime + (extent_.begin - first.start_monotonic);
    out_.write(fmt::format(
        "\"meta\":{{\"version\":24,\"preprocessedProfileVersion\":60,\"interval\":{0},"
        "\"startTime\":{1},\"processType\":0,\"product\":{2},\"stackwalk\":1,\"debug\":false,"
        "\"platform\":\"Linux\",\"oscpu\":\"Linux {3}\",\"abi\":\"{3}-gcc3\","
        "\"importedFrom\":\"swipr {4}\",\"symbolicated\":true,\"symbolicationNotSupported\":true,"
        "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
        "\"keepProfileThreadOrder\":true,\"markerSchema\":[],\n",
        milliseconds(first.interval), milliseconds(start), json_string(recording_title(recording_)),
        machine_name(first.machine), SWIPR_VERSION));
    out_.write(
        "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n");
    out_.write(fmt::format("\"initialSelectedThreads\":[{}],\n", busiest_thread()));
    write_notes();
    out_.write(fmt::format("\"categories\":{}}},\n", categories_json()));
  }

  // Index among the written threads.
  std::size_t busiest_thread() const {
    std::uint32_t busiest = 0;
    for (const auto& times : profile::thread_times(recording_)) {
      if (entries_[times.thread].empty()) continue;
      busiest = times.thread;
      break;
    }
    std::size_t index = 0;
    for (std::uint32_t thread = 0; thread < busiest; ++thread) index += !entries_[thread].empty();
    return index;
  }

  void write_notes() {
    if (recording_.warnings.empty()) return;
    out_.write("\"extra\":[{\"label\":\"Notes about the recording\",");
    write_json_array(out_, "entries", recording_.warnings, [](const std::string& warning) {
      return fmt::format("{{\"label\":\"Note\",\"format\":\"string\",\"value\":{}}}",
                         json_string(warning));
    });
    out_.write("}],\n");
  }

  void write_libraries() {
    write_json_array(out_, "libs", recording_.modules, [this](const profile::Module& module) {
      const std::string path = json_string(module.path);
      const std::string name = json_string(module.path.substr(module.path.rfind('/') + 1));
      return fmt::format(
          "{{\"arch\":\"{3}\",\"name\":{0},\"path\":{1},\"debugName\":{0},\"debugPath\":{1},"
          "\"breakpadId\":\"\",\"codeId\":{2}}}",
          name, path, module.build_id.empty() ? "null" : json_string(module.build_id),
          machine_name(recording_.processes[module.process].machine));
    });
  }

  void write_thread(std::uint32_t index) {
    const profile::Thread& thread = recording_.threads[index];
    const profile::Process& process = recording_.processes[thread.process];
    out_.write(fmt::format(
        "{{\"processType\":\"default\",\"processName\":{},\"processStartupTime\":0,"
        "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
        "\"pausedRanges\":[],\"name\":{},\"isMainThread\":{},\"pid\":\"{}\",\"tid\":{},\n",
        json_string(process.command_name), json_string(thread_name(thread)),
        thread.tid.value == process.pid.value, process.pid.value, thread.tid.value));
    out_.write(
        "\"markers\":{\"length\":0,\"data\":[],\"name\":[],\"startTime\":[],"
        "\"endTime\":[],\"phase\":[],\"category\":[]},\n\"samples\":{");
    const std::vector<Entry>& entries = entries_[index];
    column("stack", entries,
           [this](const Entry& entry) { return json_index(stacks_.number_of(entry.node)); });
    column("time", entries, [](const Entry& entry) { return milliseconds(entry.time); });
    const bool counts = weight_ == profile::Weight::kSamples;
    column("weight", entries, [counts](const Entry& entry) {
      return counts ? fmt::format("{}", entry.weight)
                    : fmt::format("{}", static_cast<double>(entry.weight) / 1e6);
    });
    column("threadCPUDelta", entries, [](const Entry& entry) { return entry.cpu_ns; });
    out_.write(fmt::format("\"weightType\":\"{}\",\"length\":{}}}}}",
                           counts ? "samples" : "tracing-ms", entries.size()));
  }

  template <typename Elements, typename ValueOf>
  void column(std::string_view name, const Elements& elements, ValueOf value_of) {
    write_json_array(out_, name, elements, value_of);
    out_.write(",\n");
  }

  void write_stacks() {
    const std::vector<Node> nodes =
        stacks_.finish([this](std::uint32_t place) { return category_of(place); });
    out_.write("\"stackTable\":{");
    column("frame", nodes, [](const Node& node) { return node.place; });
    column("prefix", nodes, [](const Node& node) { return json_index(node.parent); });
    out_.write(fmt::format("\"length\":{}}},\n", nodes.size()));
  }

  // Frames of one function differ by their line.
  void write_frames() {
    const std::vector<Place>& places = tree_.places();
    const std::vector<FirefoxFrame>& frames = stacks_.frames();
    for (const Place& place : places) {
      std::string key = place.function + '\0' + place.file + '\0' + std::to_string(place.module);
      const auto [found, is_new] = function_indexes_.try_emplace(
          std::move(key), static_cast<std::uint32_t>(functions_.size()));
      if (is_new) functions_.push_back(&place);
      function_of_place_.push_back(found->second);
    }
    out_.write("\"frameTable\":{");
    const auto constant = [](std::string_view text) {
      return [text](const auto&) { return text; };
    };
    column("address", frames, constant("-1"));
    column("inlineDepth", frames, constant("0"));
    column("category", frames, [](const FirefoxFrame& frame) { return frame.category; });
    column("subcategory", frames, constant("0"));
    column("func", frames,
           [this](const FirefoxFrame& row) { return function_of_place_[row.place]; });
    column("nativeSymbol", frames, constant("null"));
    column("innerWindowID", frames, constant("null"));
    column("line", frames, [&places](const FirefoxFrame& row) {
      const std::uint32_t line = places[row.place].line;
      return line == 0 ? std::string("null") : std::to_string(line);
    });
    column("column", frames, constant("null"));
    out_.write(fmt::format("\"length\":{}}},\n", frames.size()));
  }

  void write_functions() {
    const auto constant = [](std::string_view text) {
      return [text](const auto&) { return text; };
    };
    out_.write("\"funcTable\":{");
    column("name", functions_,
           [this](const Place* place) { return string_index(place->function); });
    column("isJS", functions_, constant("false"));
    column("relevantForJS", functions_, constant("false"));
    column("resource", functions_, [this](const Place* place) {
      return place->module == kNone ? std::string("-1")
                                    : std::to_string(resource_of(place->module));
    });
    column("source", functions_, [this](const Place* place) {
      return place->file.empty() ? std::string("null") : std::to_string(source_of(place->file));
    });
    column("lineNumber", functions_, [](const Place* place) {
      return place->start_line == 0 ? std::string("null") : std::to_string(place->start_line);
    });
    column("columnNumber", functions_, constant("null"));
    out_.write(fmt::format("\"length\":{}}},\n", functions_.size()));
  }

  std::uint32_t resource_of(std::uint32_t module) {
    const auto [found, is_new] =
        resource_indexes_.try_emplace(module, static_cast<std::uint32_t>(resources_.size()));
    if (is_new) resources_.push_back(module);
    return found->second;
  }

  std::uint32_t source_of(const std::string& file) {
    const auto [found, is_new] =
        source_indexes_.try_emplace(file, static_cast<std::uint32_t>(sources_.size()));
    if (is_new) sources_.push_back(string_index(file));
    return found->second;
  }

  void write_resources() {
    out_.write("\"resourceTable\":{");
    column("lib", resources_, [](std::uint32_t module) { return module; });
    column("name", resources_, [this](std::uint32_t module) {
      const std::string& path = recording_.modules[module].path;
      return string_index(std::string_view(path).substr(path.rfind('/') + 1));
    });
    column("host", resources_, [](std::uint32_t) { return "null"; });
    column("type", resources_, [](std::uint32_t) { return kLibraryResource; });
    out_.write(fmt::format("\"length\":{}}},\n", resources_.size()));
  }

  void write_sources() {
    out_.write("\"sources\":{");
    column("uuid", sources_, [](std::uint32_t) { return "null"; });
    column("filename", sources_, [](std::uint32_t name) { return name; });
    out_.write(fmt::format("\"length\":{}}},\n", sources_.size()));
  }

  const profile::Recording& recording_;
  profile::Weight weight_;
  profile::Extent extent_;
  profile::MachineWorkFinder machine_;
  profile::StackTree tree_;
  FirefoxStacks stacks_;
  std::vector<std::vector<Entry>> entries_;  // by thread
  std::unordered_map<std::uint32_t, unsigned> category_of_place_;
  StringSink out_;
  std::unordered_map<std::string, std::uint32_t> string_indexes_;
  std::vector<const std::string*> strings_;  // by index; keys of the map do not move
  std::unordered_map<std::string, std::uint32_t> function_indexes_;
  std::vector<const Place*> functions_;
  std::vector<std::uint32_t> function_of_place_;
  std::unordered_map<std::uint32_t, std::uint32_t> resource_indexes_;
  std::vector<std::uint32_t> resources_;  // modules
  std::unordered_map<std::string, std::uint32_t> source_indexes_;
  std::vector<std::uint32_t> sources_;  // file names as strings
};

}  // namespace

host::Result<void> write_firefox(const profile::Recording& recording, const profile::Names& names,
                                 const Options& options, Sink& sink) {
  const std::string json = FirefoxWriter(recording, names, options).write();
  if (auto compressed = write_gzip(json, sink); !compressed) return compressed;
  return sink.flush();
}

}  // namespace swipr::exporters
