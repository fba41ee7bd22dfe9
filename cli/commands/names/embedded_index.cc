#include "cli/commands/names/embedded_index.h"

#include <span>

namespace swipr::commands {

EmbeddedIndex::EmbeddedIndex(const profile::EmbeddedNames& names) : names_(names) {
  for (std::uint32_t index = 0; index < names.addresses.size(); ++index) {
    const profile::EmbeddedAddress& address = names.addresses[index];
    const profile::EmbeddedFile& file = names.files[address.file];
    files_[{file.path, file.build_id}].emplace(address.file_offset, index);
  }
}

std::optional<std::vector<symbolize::SourceFunction>> EmbeddedIndex::find(
    const profile::Module& module, FileOffset offset, symbolize::TextPool& texts) const {
  const auto file = files_.find({module.path, module.build_id});
  if (file == files_.end()) return std::nullopt;
  const auto place = file->second.find(offset.value);
  if (place == file->second.end()) return std::nullopt;
  const profile::EmbeddedAddress& address = names_.addresses[place->second];
  std::vector<symbolize::SourceFunction> functions;
  for (const profile::EmbeddedFunction& function :
       std::span(names_.functions).subspan(address.first_function, address.function_count)) {
    functions.push_back({.name = texts.intern(names_.texts[function.name]),
                         .linkage_name = texts.intern(names_.texts[function.linkage_name]),
                         .file = texts.intern(names_.texts[function.file]),
                         .line = function.line,
                         .start_line = function.start_line,
                         .offset = function.offset,
                         .inlined = function.inlined});
  }
  return functions;
}

}  // namespace swipr::commands
