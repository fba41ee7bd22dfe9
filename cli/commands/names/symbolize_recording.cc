#include "cli/commands/names/symbolize_recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cli/commands/names/embedded_collector.h"
#include "cli/commands/names/embedded_index.h"
#include "cli/commands/names/jit_frames.h"
#include "cli/commands/names/swift_functions.h"
#include "cli/commands/names/symbolizer_options.h"
#include "common/core/addresses.h"
#include "symbolize/symbolizer.h"
#include "symbolize/text/demangle.h"

namespace swipr::commands {

namespace {

using profile::FrameNames;
using symbolize::Symbolizer;

// "libx.so" of "/usr/lib/libx.so (deleted)", "vdso" of "[vdso]".
std::string_view short_module_name(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  if (path.starts_with('[') && path.ends_with(']')) path = path.substr(1, path.size() - 2);
  return path.empty() ? "unknown" : path;
}

profile::NamedFrame named(const symbolize::SourceFunction& function, bool short_names,
                          symbolize::TextPool& texts) {
  profile::NamedFrame frame;
  frame.function = short_names ? texts.intern(symbolize::shorten(function.name)) : function.name;
  frame.system_name = function.linkage_name;
  frame.file = function.file;
  frame.line = function.line;
  frame.start_line = function.start_line;
  frame.offset = function.offset;
  frame.inlined = function.inlined;
  return frame;
}

// An address in brackets only.
bool is_nameless(const FrameNames& names) {
  return names.size() == 1 && names.front().system_name.empty() &&
         names.front().function.starts_with('[');
}

class FrameNamer {
 public:
  FrameNamer(profile::Recording& recording, const options::SymbolOptions& options)
      : recording_(recording),
        jit_(recording, options.symfs),
        embedded_(recording.embedded),
        prefers_files_(!options.symfs.empty() || !options.debug_directories.empty()),
        inlines_(options.inlines),
        short_names_(options.short_names),
        demangle_(options.demangle),
        symbolizer_(symbolizer_options(options), texts_) {
    handles_.resize(recording.modules.size());
  }

  std::vector<FrameNames> name_all() {
    Found found = find_functions();
    std::vector<FrameNames> names;
    names.reserve(found.size());
    for (std::size_t index = 0; index < found.size(); ++index) {
      names.push_back(names_of(static_cast<std::uint32_t>(index), found[index]));
      found[index] = {};
    }
    if (demangle_) name_swift_functions(names, *texts_);
    return names;
  }

  void name_locks(const LockPlaces& locks, profile::Names& names) {
    const auto open = [this](std::uint32_t module) { return handle_of(module); };
    name_lock_variables(recording_, locks, symbolizer_, open, names);
  }

  // Everything that name_all() has looked up, for embedding.
  profile::EmbeddedNames embeddable() {
    Found found = find_functions();
    EmbeddedCollector collector;
    for (std::size_t index = 0; index < found.size(); ++index) {
      const profile::Frame& frame = recording_.frames[index];
      if (frame.module == profile::kNone) continue;
      const profile::Module& module = recording_.modules[frame.module];
      if (module.path.starts_with('/') || module.path == "[vdso]") {
        if (found[index].empty()) {
          found[index].emplace_back().offset = offset_in_nameless(frame);
        }
        collector.add(module, offset_of(frame), found[index]);
      }
    }
    profile::EmbeddedNames names = std::move(collector).take();
    names.code = jit_.code();
    return names;
  }

  std::shared_ptr<const void> texts() const { return texts_; }

  // Shape: parallel to the recording's modules.
  std::vector<ModuleExplanation> explain(const std::vector<FrameNames>& names) {
    std::vector<ModuleExplanation> result(recording_.modules.size());
    for (std::size_t frame = 0; frame < names.size(); ++frame) {
      const std::uint32_t module = recording_.frames[frame].module;
      if (module == profile::kNone) continue;
      ++result[module].addresses;
      if (!is_nameless(names[frame])) ++result[module].named;
      if (!handles_[module]) ++result[module].embedded;
      if (names[frame].front().line != 0) ++result[module].with_lines;
    }
    for (std::size_t index = 0; index < result.size(); ++index) {
      if (!handles_[index]) continue;
      result[index].sources = symbolizer_.sources(*handles_[index]);
      result[index].note = symbolizer_.note(*handles_[index]);
    }
    return result;
  }

  // Each distinct error, and one line for all files without symbols.
  std::vector<std::string> notes(const std::vector<FrameNames>& names) const {
    std::vector<std::string> notes;
    std::set<std::string_view> seen;
    for (const auto& handle : handles_) {
      if (!handle) continue;
      const std::string_view note = symbolizer_.note(*handle);
      if (!note.empty() && seen.insert(note).second) notes.emplace_back(note);
    }
    if (std::string note = summarize_nameless(names); !note.empty()) notes.push_back(note);
    if (std::string note = summarize_generated(names); !note.empty()) notes.push_back(note);
    notes.insert(notes.end(), jit_.notes().begin(), jit_.notes().end());
    return notes;
  }

 private:
  static constexpr Symbolizer::ModuleHandle kNoModule = 0xFFFFFFFFu;  // has no functions

  Symbolizer::ModuleHandle handle_of(std::uint32_t index) {
    auto& handle = handles_[index];
    if (!handle) {
      const profile::Module& module = recording_.modules[index];
      const Pid pid = recording_.processes[module.process].pid;
      handle = symbolizer_.open_module(
          {module.path, module.build_id, pid.value, module.start, module.size_bytes});
    }
    return *handle;
  }

  using Found = std::vector<std::vector<symbolize::SourceFunction>>;  // by frame

  // Names stored in the recording are preferred. With --debug-dir or --symfs they are used
  // only where the files have none.
  Found find_functions() {
    const std::size_t count = recording_.frames.size();
    std::vector<std::optional<std::vector<symbolize::SourceFunction>>> carried(count);
    std::vector<Symbolizer::Lookup> lookups(count, {kNoModule, FileOffset{0}});
    for (std::size_t index = 0; index < count; ++index) {
      const profile::Frame& frame = recording_.frames[index];
      if (frame.module == profile::kNone) continue;
      carried[index] = find_carried(frame);
      if (!carried[index] || prefers_files_) lookups[index] = lookup_of(frame);
    }
    Found found = symbolizer_.find_all(lookups);
    for (std::size_t index = 0; index < count; ++index) {
      if (found[index].empty() && carried[index]) found[index] = *std::move(carried[index]);
    }
    return found;
  }

  std::optional<std::vector<symbolize::SourceFunction>> find_carried(
      const profile::Frame& frame) const {
    const profile::Module& module = recording_.modules[frame.module];
    if (!module.has_file_offset) return std::nullopt;
    auto functions = embedded_.find(module, offset_of(frame), *texts_);
    if (!functions || functions->empty()) return functions;
    if (!inlines_) functions->erase(functions->begin(), functions->end() - 1);
    for (symbolize::SourceFunction& function : *functions) {
      if (!demangle_ && !function.linkage_name.empty()) function.name = function.linkage_name;
    }
    return functions;
  }

  // For frames in modules that have file offsets.
  FileOffset offset_of(const profile::Frame& frame) const {
    const profile::Module& module = recording_.modules[frame.module];
    const std::uint64_t address = lookup_address(frame.pc.value, frame.kind);
    return FileOffset{address - module.start.value + module.file_offset.value};
  }

  Symbolizer::Lookup lookup_of(const profile::Frame& frame) {
    const profile::Module& module = recording_.modules[frame.module];
    const Symbolizer::ModuleHandle handle = handle_of(frame.module);
    if (module.has_file_offset) return {handle, offset_of(frame)};
    const std::uint64_t address = lookup_address(frame.pc.value, frame.kind);
    return {handle, symbolizer_.file_offset(handle, ImageAddr{address - module.load_bias})};
  }

  FrameNames names_of(std::uint32_t index, const std::vector<symbolize::SourceFunction>& found) {
    const profile::Frame& frame = recording_.frames[index];
    if (is_runtime_frame(frame.pc.value)) return {runtime_name(frame)};
    FrameNames names;
    names.reserve(std::max<std::size_t>(found.size(), 1));
    for (const symbolize::SourceFunction& function : found) {
      if (!function.name.empty()) names.push_back(named(function, short_names_, *texts_));
    }
    const std::uint64_t address = lookup_address(frame.pc.value, frame.kind);
    if (names.empty()) names = generated_names(index);
    if (names.empty()) {
      names.emplace_back().function =
          texts_->intern(frame.module == profile::kNone ? fmt::format("[0x{:x}]", frame.pc.value)
                                                        : place_in_module(frame, found));
    } else if (!names.back().system_name.empty()) {
      // Lookups use the byte before a return address; printed offsets use the return address.
      names.back().offset += frame.pc.value - address;
    }
    return names;
  }

  profile::NamedFrame runtime_name(const profile::Frame& frame) {
    profile::NamedFrame result;
    result.function = profile::kFunctionGone;
    if (frame.function == profile::kNone) return result;
    const profile::Function& function = recording_.functions[frame.function];
    result.language = function.language;
    result.execution = frame.execution;
    result.file = function.file;
    result.line = frame.line;
    result.start_line = function.start_line;
    if (function.name.empty()) return result;
    result.system_name = function.name;
    const std::string_view file = std::string_view(function.file);
    result.function = file.empty() ? function.name
                                   : texts_->intern(fmt::format("{} ({})", function.name,
                                                                file.substr(file.rfind('/') + 1)));
    return result;
  }

  std::string summarize_generated(const std::vector<FrameNames>& names) const {
    std::size_t addresses = 0;
    for (std::size_t index = 0; index < names.size(); ++index) {
      const bool is_generated = jit_.is_generated(static_cast<std::uint32_t>(index));
      addresses += is_generated && is_nameless(names[index]) ? 1 : 0;
    }
    if (addresses == 0) return {};
    return fmt::format(
        "{} address{} outside of all mapped files {} no name; for JIT-compiled code, have the "
        "compiler "
        "write /tmp/perf-PID.map (node --perf-basic-prof, python -X perf)",
        addresses, addresses == 1 ? "" : "es", addresses == 1 ? "has" : "have");
  }

  // Generated code has other remedies. Files that were not found have their own notes.
  std::string summarize_nameless(const std::vector<FrameNames>& names) const {
    std::size_t addresses = 0;
    std::set<std::string_view> modules;
    for (std::size_t index = 0; index < names.size(); ++index) {
      const std::uint32_t module = recording_.frames[index].module;
      if (module == profile::kNone || !is_nameless(names[index])) continue;
      const std::string_view path = recording_.modules[module].path;
      if (!path.starts_with('/')) continue;
      if (handles_[module] && !symbolizer_.note(*handles_[module]).empty()) continue;
      modules.insert(short_module_name(path));
      ++addresses;
    }
    if (addresses == 0) return {};
    return fmt::format("{} address{} no name ({}); swipr convert --explain shows what to install",
                       addresses, addresses == 1 ? " has" : "es have", fmt::join(modules, ", "));
  }

  FrameNames generated_names(std::uint32_t index) {
    const auto found = jit_.find(index);
    if (!found) return {};
    profile::NamedFrame frame;
    frame.function = frame.system_name = texts_->intern(found->function);
    // Some compilers write plain names, others linkage names.
    if (const auto readable = demangle_
                                  ? symbolize::find_readable_name(std::string(found->function))
                                  : std::nullopt) {
      frame.function = texts_->intern(short_names_ ? symbolize::shorten(*readable) : *readable);
    }
    frame.file = texts_->intern(found->file);
    frame.line = found->line;
    frame.offset = found->offset;
    frame.language = found->language;
    frame.execution = Execution::kCompiled;
    return {frame};
  }

  // The start of the function, so that all its addresses count as one; the address itself if
  // the start is unknown.
  std::string place_in_module(const profile::Frame& frame,
                              const std::vector<symbolize::SourceFunction>& found) {
    const profile::Module& module = recording_.modules[frame.module];
    const std::uint64_t offset = found.empty() ? offset_in_nameless(frame) : found.back().offset;
    const std::uint64_t address = lookup_address(frame.pc.value, frame.kind) - module.load_bias;
    return fmt::format("[{}+0x{:x}]", short_module_name(module.path), address - offset);
  }

  // Offset from the start of a function without a name; 0: the start is unknown.
  std::uint64_t offset_in_nameless(const profile::Frame& frame) {
    if (find_carried(frame)) return 0;
    const Symbolizer::Lookup lookup = lookup_of(frame);
    const auto start = symbolizer_.function_start(lookup.module, lookup.offset);
    const std::uint64_t address =
        lookup_address(frame.pc.value, frame.kind) - recording_.modules[frame.module].load_bias;
    return start ? address - start->value : 0;
  }

  const profile::Recording& recording_;
  const JitFrames jit_;
  const EmbeddedIndex embedded_;
  const bool prefers_files_;
  const bool inlines_;
  const bool short_names_;
  const bool demangle_;
  const std::shared_ptr<symbolize::TextPool> texts_ = std::make_shared<symbolize::TextPool>();
  Symbolizer symbolizer_;
  std::vector<std::optional<Symbolizer::ModuleHandle>> handles_;  // by module
};

}  // namespace

profile::EmbeddedNames names_to_embed(profile::Recording& recording,
                                      std::vector<std::string>& notes) {
  FrameNamer namer(recording, {});
  auto names = namer.embeddable();
  notes = namer.notes({});
  return names;
}

NamedRecording symbolize_recording(profile::Recording& recording,
                                   const options::SymbolOptions& options) {
  return symbolize_recording(recording, options, find_lock_places(recording));
}

NamedRecording symbolize_recording(profile::Recording& recording,
                                   const options::SymbolOptions& options, const LockPlaces& locks) {
  FrameNamer namer(recording, options);
  NamedRecording result;
  result.names.frames = namer.name_all();
  result.names.texts = namer.texts();
  result.notes = namer.notes(result.names.frames);
  namer.name_locks(locks, result.names);  // files that only locks need may be missing
  return result;
}

void fetch_unreachable_modules(const session::SeenModules& modules) {
  auto options = symbolizer_options({});
  options.debuginfod = false;  // its servers can be asked later
  Symbolizer symbolizer(std::move(options));
  for (const auto& [build_id, module] : modules) {
    symbolizer.open_module(
        {module.path, build_id, module.pid.value, module.start, module.size_bytes});
  }
}

std::vector<ModuleExplanation> explain_names(profile::Recording& recording,
                                             options::SymbolOptions options) {
  options.cache = false;  // it has names but not their sources
  FrameNamer namer(recording, options);
  const auto names = namer.name_all();
  return namer.explain(names);
}

}  // namespace swipr::commands
