// Options of all commands that trace functions.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "cli/options/options.h"
#include "cli/options/parse.h"

namespace swipr::options {

// Lifetime: `options` outlives the parser.
void add_trace_options(CLI::App& app, TraceOptions& options);
std::optional<UsageError> check_trace_options(std::string_view command,
                                              const TraceOptions& options);

}  // namespace swipr::options
