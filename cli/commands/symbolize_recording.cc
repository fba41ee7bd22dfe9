#include "cli/commands/symbolize_recording.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "common/core/addresses.h"

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

FrameNames unnamed(std::string text) {
  profile::NamedFrame frame;
  frame.function = std::move(text);
  return {std::move(frame)};
}

profile::NamedFrame named(symbolize::SourceFunction&& function) {
  profile::NamedFrame frame;
  frame.function = std::move(function.name);
  frame.system_name = std::move(function.linkage_name);
  frame.file = std::move(function.file);
  frame.line = function.line;
  frame.start_line = function.start_line;
  frame.offset = function.offset;
  frame.inlined = function.inlined;
  return frame;
}

class FrameNamer {
 public:
  FrameNamer(const profile::Recording& recording, const symbolize::Options& options)
      : recording_(recording), symbolizer_(options) {
    handles_.resize(recording.modules.size());
    cache_.resize(recording.modules.size());
  }

  FrameNames name(const profile::Frame& frame) {
    if (frame.module == profile::kNone) return unnamed(fmt::format("[0x{:x}]", frame.pc.value));
    const std::uint64_t looked_up = lookup_address(frame.pc.value, frame.kind);
    const auto [entry, is_new] = cache_[frame.module].try_emplace(looked_up);
    if (is_new) entry->second = look_up(frame.module, looked_up);
    FrameNames names = entry->second;
    // Lookups are for the byte before a return address; offsets are shown for the address itself.
    if (!names.back().system_name.empty()) names.back().offset += frame.pc.value - looked_up;
    return names;
  }

  // Modules in which something was looked up and missing, each path once.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    std::unordered_map<std::string_view, bool> seen;
    for (const auto& handle : handles_) {
      if (!handle) continue;
      const std::string_view note = symbolizer_.note(*handle);
      if (!note.empty() && seen.try_emplace(note, true).second) notes.emplace_back(note);
    }
    return notes;
  }

 private:
  Symbolizer::ModuleHandle handle_of(std::uint32_t index) {
    auto& handle = handles_[index];
    if (!handle) {
      const profile::Module& module = recording_.modules[index];
      const Pid pid = recording_.processes[module.process].pid;
      handle = symbolizer_.open_module({module.path, module.build_id, pid.value});
    }
    return *handle;
  }

  FrameNames look_up(std::uint32_t index, std::uint64_t address) {
    const profile::Module& module = recording_.modules[index];
    const Symbolizer::ModuleHandle handle = handle_of(index);
    const ImageAddr image{address - module.load_bias};
    const FileOffset offset =
        module.has_file_offset ? FileOffset{address - module.start.value + module.file_offset.value}
                               : symbolizer_.file_offset(handle, image);
    FrameNames names;
    for (auto& function : symbolizer_.find_functions(handle, offset)) {
      if (!function.name.empty()) names.push_back(named(std::move(function)));
    }
    if (!names.empty()) return names;
    return unnamed(fmt::format("[{}+0x{:x}]", short_module_name(module.path), image.value));
  }

  const profile::Recording& recording_;
  Symbolizer symbolizer_;
  std::vector<std::optional<Symbolizer::ModuleHandle>> handles_;      // by module
  std::vector<std::unordered_map<std::uint64_t, FrameNames>> cache_;  // by module, then address
};

}  // namespace

NamedRecording symbolize_recording(const profile::Recording& recording,
                                   const symbolize::Options& options) {
  FrameNamer namer(recording, options);
  NamedRecording result;
  result.names.frames.reserve(recording.frames.size());
  for (const profile::Frame& frame : recording.frames) {
    result.names.frames.push_back(namer.name(frame));
  }
  result.notes = namer.notes();
  return result;
}

}  // namespace swipr::commands
