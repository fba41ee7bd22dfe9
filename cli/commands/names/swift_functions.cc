#include "cli/commands/names/swift_functions.h"

#include <string_view>
#include <unordered_map>

#include "symbolize/text/swift_names.h"

namespace swipr::commands {

void name_swift_functions(std::vector<profile::FrameNames>& names, symbolize::TextPool& texts) {
  std::unordered_map<std::string_view, std::string_view> readable;
  for (const profile::FrameNames& frame : names) {
    for (const profile::NamedFrame& function : frame) {
      if (symbolize::is_swift_name(function.system_name)) readable[function.system_name];
    }
  }
  if (readable.empty()) return;
  std::vector<std::string_view> mangled;
  for (const auto& entry : readable) mangled.push_back(entry.first);
  const auto demangled = symbolize::demangle_swift(mangled);
  if (!demangled) return;
  for (std::size_t index = 0; index < mangled.size(); ++index) {
    readable[mangled[index]] = texts.intern((*demangled)[index]);
  }
  for (profile::FrameNames& frame : names) {
    for (profile::NamedFrame& function : frame) {
      const auto found = readable.find(function.system_name);
      if (found != readable.end()) function.function = found->second;
    }
  }
}

}  // namespace swipr::commands
