#include "cli/commands/latency/caller_names.h"

#include <fmt/format.h>

#include "cli/commands/names/symbolizer_options.h"

namespace swipr::commands {

namespace {

symbolize::Options names_options(const std::vector<std::string>& debug_directories) {
  options::SymbolOptions chosen;
  chosen.debug_directories = debug_directories;
  return symbolizer_options(chosen);
}

}  // namespace

CallerNames::CallerNames(const profile::Recording& process,
                         const std::vector<std::string>& debug_directories)
    : process_(process), symbolizer_(names_options(debug_directories)) {}

const std::vector<tracing::CallerFrame>& CallerNames::frames_at(std::uint64_t return_address) {
  const auto [entry, is_new] = known_.try_emplace(return_address);
  if (is_new) entry->second = name(return_address - 1);
  return entry->second;
}

std::optional<symbolize::Signature> CallerNames::signature_of(const TracedFunction& function) {
  for (const profile::Module& module : process_.modules) {
    if (module.path != function.path || module.build_id != function.build_id) continue;
    return symbolizer_.find_signature(open(module), function.begin);
  }
  return std::nullopt;
}

symbolize::Symbolizer::ModuleHandle CallerNames::open(const profile::Module& module) {
  return symbolizer_.open_module({module.path, module.build_id,
                                  process_.processes[module.process].pid.value, module.start,
                                  module.size_bytes});
}

std::vector<tracing::CallerFrame> CallerNames::name(std::uint64_t address) {
  for (const profile::Module& module : process_.modules) {
    const std::uint64_t at = address - module.start.value;
    if (at >= module.size_bytes) continue;
    const auto handle = open(module);
    std::vector<tracing::CallerFrame> frames;
    for (const auto& function :
         symbolizer_.find_functions(handle, {module.file_offset.value + at})) {
      frames.push_back({std::string(function.name), std::string(function.file), function.line,
                        function.inlined});
    }
    if (!frames.empty()) return frames;
    const std::string file = module.path.substr(module.path.rfind('/') + 1);
    return {{fmt::format("[{}+0x{:x}]", file, address - module.load_bias), "", 0, false}};
  }
  return {{fmt::format("[0x{:x}]", address), "", 0, false}};
}

}  // namespace swipr::commands
