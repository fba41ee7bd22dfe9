#include "cli/commands/install/unit_folders.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/commands/install/unit_text.h"
#include "common/host/proc.h"

namespace swipr::commands {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostUnitBytes = std::size_t{1} << 20;
constexpr std::size_t kMostDropIns = 256;

const char* manager_of(const ServicePlace& place) { return place.of_user ? "user" : "system"; }

std::string own_folder(const ServicePlace& place) {
  return fmt::format("{}/systemd/{}", configuration_folder(place), manager_of(place));
}

// The first one that has a unit or a drop-in of a name decides.
std::vector<std::string> unit_folders(const ServicePlace& place) {
  std::vector<std::string> folders{own_folder(place)};
  const auto add = [&](std::string_view folder) {
    folders.push_back(fmt::format("{}{}{}", place.root, folder, manager_of(place)));
  };
  if (place.of_user) add("/etc/systemd/");
  add("/run/systemd/");
  for (const char* folder : {"/run/systemd/generator", "/run/systemd/generator.late"}) {
    if (!place.of_user) folders.push_back(place.root + folder);
  }
  for (const char* folder : {"/usr/local/lib/systemd/", "/usr/lib/systemd/", "/lib/systemd/"}) {
    add(folder);
  }
  return folders;
}

// "worker@3.service" has the unit "worker@.service", and drop-ins of both names.
std::vector<std::string> names_of(const std::string& name) {
  std::vector<std::string> names{name};
  const std::size_t at = name.find('@');
  const std::string general = name.substr(0, at) + "@.service";
  if (at != std::string::npos && general != name) names.push_back(general);
  return names;
}

std::optional<std::string> unit_text(const ServicePlace& place) {
  for (const std::string& name : names_of(place.name)) {
    for (const std::string& folder : unit_folders(place)) {
      auto text = host::read_file(fmt::format("{}/{}", folder, name), kMostUnitBytes);
      if (text) return *std::move(text);
    }
  }
  return std::nullopt;
}

// By name, as systemd orders them.
std::map<std::string, std::string> drop_ins(const ServicePlace& place) {
  std::map<std::string, std::string> paths;
  for (const std::string& name : names_of(place.name)) {
    for (const std::string& folder : unit_folders(place)) {
      std::error_code error;
      for (fs::directory_iterator entry(fmt::format("{}/{}.d", folder, name), error), end;
           !error && entry != end && paths.size() < kMostDropIns; entry.increment(error)) {
        const fs::path& path = entry->path();
        if (path.extension() == ".conf") paths.try_emplace(path.filename(), path);
      }
    }
  }
  paths.erase(std::string(kPreloadFile));
  return paths;
}

}  // namespace

std::string configuration_folder(const ServicePlace& place) {
  if (!place.of_user) return place.root + "/etc";
  const char* own = std::getenv("XDG_CONFIG_HOME");
  if (own != nullptr && *own == '/') return place.root + own;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fmt::format("{}{}/.config", place.root, home) : "";
}

std::string drop_in_path(const ServicePlace& place) {
  return fmt::format("{}/{}.d/{}", own_folder(place), place.name, kPreloadFile);
}

std::optional<std::string> preload_of_service(const ServicePlace& place) {
  const auto unit = unit_text(place);
  if (!unit) return std::nullopt;
  std::string setting = preload_after(*unit, "");
  for (const auto& [name, path] : drop_ins(place)) {
    const auto text = host::read_file(path, kMostUnitBytes);
    if (text) setting = preload_after(*text, std::move(setting));
  }
  return setting;
}

}  // namespace swipr::commands
