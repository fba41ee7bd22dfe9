// `convert --explain`: where the names of each module come from, and what would make them better.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands/commands.h"
#include "cli/commands/symbolize_recording.h"

namespace swipr::commands {

// One paragraph. `package` is the Debian package that the module's file is from; empty: none.
std::string explain_module(const profile::Module& module, const ModuleExplanation& explanation,
                           std::string_view package);

// The package that dpkg's lists in `folder` (/var/lib/dpkg/info) say the file is from; empty: none.
std::string find_package(const std::string& folder, std::string_view path);

Outcome run_explain(const options::ConvertOptions& options);

}  // namespace swipr::commands
