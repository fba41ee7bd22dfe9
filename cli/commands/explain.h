// `convert --explain`: the source of each module's names, and how to get better ones.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands/commands.h"
#include "cli/commands/names/symbolize_recording.h"

namespace swipr::commands {

// Returns one paragraph. `package` is the Debian package that owns the module's file; empty: none.
std::string explain_module(const profile::Module& module, const ModuleExplanation& explanation,
                           std::string_view package);

// Returns the package that owns the file according to dpkg's lists in `folder`
// (/var/lib/dpkg/info); empty: none.
std::string find_package(const std::string& folder, std::string_view path);

Outcome run_explain(const options::ConvertOptions& options);

}  // namespace swipr::commands
