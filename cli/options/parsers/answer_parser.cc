#include <string>
#include <string_view>
#include <utility>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"
#include "cli/options/values.h"

namespace swipr::options {

void AnswerParser::add_to(CLI::App& parent) {
  // Started by the agent of a recorded program, so the help does not list it.
  app = parent.add_subcommand("answer", "")->group("");
  add_format(*app, options.format, parse_format, "")->required();
  app->add_option("--disposition", options.disposition, "");
}

ParseResult AnswerParser::finish() { return Command{std::move(options)}; }

}  // namespace swipr::options
