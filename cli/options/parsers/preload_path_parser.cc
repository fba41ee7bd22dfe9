#include <string>
#include <string_view>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"

namespace swipr::options {

namespace {

constexpr std::string_view kPreloadPathFooter = R"(
Examples:
  LD_PRELOAD=$(swipr preload-path) ./app
)";

}  // namespace

void PreloadPathParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("preload-path", "Print the absolute path of libswipr_preload.so");
  app->formatter(with_usage("preload-path"));
  app->footer(std::string(kPreloadPathFooter));
}

ParseResult PreloadPathParser::finish() { return Command{options}; }

}  // namespace swipr::options
