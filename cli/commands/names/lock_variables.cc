#include "cli/commands/names/lock_variables.h"

#include <map>
#include <string>

#include "common/host/text/clean_text.h"

namespace swipr::commands {

LockPlaces find_lock_places(const profile::Recording& recording, std::size_t first) {
  LockPlaces places;
  for (std::size_t index = first; index < recording.stacks.size(); ++index) {
    const profile::Stack& stack = recording.stacks[index];
    if (!stack.lock || *stack.lock == 0 || stack.frames.empty()) continue;
    places.insert({recording.frames[stack.frames.front()].process, *stack.lock});
  }
  return places;
}

// The data of a file is mapped behind its code. Behind that of the last file are the heap and
// others, whose addresses are in none of its variables.
void name_lock_variables(
    const profile::Recording& recording, const LockPlaces& places,
    symbolize::Symbolizer& symbolizer,
    const std::function<symbolize::Symbolizer::ModuleHandle(std::uint32_t)>& open,
    profile::Names& names) {
  if (places.empty()) return;
  std::map<LockPlaces::value_type, std::uint32_t> modules;  // by process and start
  for (std::uint32_t index = 0; index < recording.modules.size(); ++index) {
    const profile::Module& module = recording.modules[index];
    if (module.path.starts_with('/')) modules[{module.process, module.start.value}] = index;
  }
  for (const auto& place : places) {
    auto found = modules.upper_bound(place);
    if (found == modules.begin() || (--found)->first.first != place.first) continue;
    const profile::Module& module = recording.modules[found->second];
    const std::string name =
        symbolizer.find_variable(open(found->second), ImageAddr{place.second - module.load_bias});
    if (!name.empty()) names.variables[place] = host::clean_text(name);
  }
}

}  // namespace swipr::commands
