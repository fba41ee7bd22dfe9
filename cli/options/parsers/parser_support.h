// Shared code of the subcommand parsers: help format, callbacks for the parsers of values.h,
// common options.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options/options.h"
#include "common/host/result.h"

namespace swipr::options {

// Help whose usage line is "swipr " + `usage`.
std::shared_ptr<CLI::FormatterBase> with_usage(std::string usage);

// Runs a values.h parser as the callback of an option; its message becomes the parser's error.
template <typename Target, typename Value>
auto store(Target& target, host::Result<Value> (*parse)(std::string_view)) {
  return [&target, parse](const std::string& text) {
    auto value = parse(text);
    if (!value)
      throw CLI::ValidationError(value.error().message(), CLI::ExitCodes::ValidationError);
    target = *std::move(value);
  };
}

template <typename Value>
auto store(std::optional<Value>& target, host::Result<Value> (*parse)(std::string_view)) {
  return [&target, parse](const std::string& text) { store(target.emplace(), parse)(text); };
}

using ParseFormat = host::Result<Format> (*)(std::string_view);
CLI::Option* add_format(CLI::App& app, Format& format, ParseFormat parse, const std::string& help);
// --thread, --state, --from, --to, --only, --hide, --focus, --merge-threads
void add_filters(CLI::App& app, FilterOptions& filters);
void add_symbol_options(CLI::App& app, SymbolOptions& symbols);

}  // namespace swipr::options
