// Where systemd has the unit of a service, and its drop-ins.
// Source: systemd.unit(5), "Unit File Load Path".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace swipr::commands {

// The name of the file that preloads the library, as a drop-in or in environment.d.
inline constexpr std::string_view kPreloadFile = "50-swipr.conf";

struct ServicePlace {
  std::string root;      // before all paths; empty: this system
  std::string name;      // "nginx.service"
  bool of_user = false;  // of the user's service manager, not of the system's
};

// The folder for the configuration of the system, or of the user ("~/.config"); empty: neither
// XDG_CONFIG_HOME nor HOME is set.
std::string configuration_folder(const ServicePlace& place);
// Of our drop-in.
std::string drop_in_path(const ServicePlace& place);

// LD_PRELOAD as the unit and its drop-ins, but for ours, set it; empty: they do not. nullopt: there
// is no such unit. Files of environments (EnvironmentFile=) are not read.
std::optional<std::string> preload_of_service(const ServicePlace& place);

}  // namespace swipr::commands
