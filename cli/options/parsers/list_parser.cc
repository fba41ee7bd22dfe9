#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

namespace {

constexpr std::string_view kListFooter = R"(
Stale sockets of ended processes are removed.
)";

}  // namespace

void ListParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("list", "List the processes that can be recorded");
  app->formatter(with_usage("list [--json]"));
  app->footer(std::string(kListFooter));
  app->add_flag("--json", options.json, "Print a JSON array");
}

ParseResult ListParser::finish() { return Command{options}; }

}  // namespace swipr::options
