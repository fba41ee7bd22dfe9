#include "cli/commands/names/embedded_collector.h"

namespace swipr::commands {

std::uint32_t EmbeddedCollector::text(std::string_view value) {
  const auto [entry, is_new] =
      texts_.try_emplace(value, static_cast<std::uint32_t>(names_.texts.size()));
  if (is_new) names_.texts.emplace_back(value);
  return entry->second;
}

void EmbeddedCollector::add(const profile::Module& module, FileOffset offset,
                            const std::vector<symbolize::SourceFunction>& functions) {
  const auto [file, is_new] = files_.try_emplace({module.path, module.build_id},
                                                 static_cast<std::uint32_t>(names_.files.size()));
  if (is_new) names_.files.push_back({module.path, module.build_id});
  names_.addresses.push_back({.file = file->second,
                              .file_offset = offset.value,
                              .first_function = static_cast<std::uint32_t>(names_.functions.size()),
                              .function_count = static_cast<std::uint32_t>(functions.size())});
  for (const symbolize::SourceFunction& function : functions) {
    names_.functions.push_back({.name = text(function.name),
                                .linkage_name = text(function.linkage_name),
                                .file = text(function.file),
                                .line = function.line,
                                .start_line = function.start_line,
                                .offset = function.offset,
                                .inlined = function.inlined});
  }
}

}  // namespace swipr::commands
