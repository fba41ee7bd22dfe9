#include <string>
#include <string_view>

#include "cli/options/parsers/parser_support.h"
#include "cli/options/parsers/parsers.h"

namespace swipr::options {

namespace {

constexpr std::string_view kInstallPreloadFooter = R"(
Nothing is restarted. A variable LD_PRELOAD that the unit of the service sets is kept.

Examples:
  swipr install-preload --service nginx            for a service of the system, as root
  swipr install-preload --user --service worker    for a service of the user
  swipr install-preload --user                     for all programs of the user's next login
  swipr install-preload --service nginx --remove
)";

}  // namespace

void InstallPreloadParser::add_to(CLI::App& parent) {
  app = parent.add_subcommand("install-preload",
                              "Preload libswipr_preload.so into a service or a user's programs");
  app->formatter(with_usage("install-preload --service NAME | --user [OPTION…]"));
  app->footer(std::string(kInstallPreloadFooter));
  app->add_option("--service", options.service, "A service of systemd")->type_name("NAME");
  app->add_flag("--user", options.of_user,
                "A service of the user's service manager; without --service all programs of the "
                "user");
  app->add_flag("--remove", options.removes, "Remove the file that this command wrote");
  app->add_option("--root", options.root, "Use the files below DIR, for instance of an image")
      ->type_name("DIR");
}

ParseResult InstallPreloadParser::finish() {
  if (options.service.empty() && !options.of_user) {
    return UsageError{"install-preload: --service NAME or --user is required"};
  }
  if (!options.service.empty() && !options.service.ends_with(".service")) {
    options.service += ".service";
  }
  while (options.root.ends_with('/')) options.root.pop_back();
  return Command{options};
}

}  // namespace swipr::options
