#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/install/unit_folders.h"
#include "cli/commands/install/unit_text.h"
#include "cli/commands/output/output_file.h"
#include "cli/commands/output/terminal.h"
#include "cli/export/text/sink.h"
#include "cli/session/launch/program.h"
#include "common/host/proc.h"

namespace swipr::commands {

namespace {

namespace fs = std::filesystem;
using host::Error;
using host::Result;
using options::InstallPreloadOptions;

constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;
constexpr const char* kSockets = "/run/swipr";

// Nothing that another tool or person wrote is replaced or removed.
Result<bool> is_there(const std::string& path) {
  const auto text = host::read_file(path, kMostFileBytes);
  if (!text && ::access(path.c_str(), F_OK) != 0) return false;
  if (!text) return text.error();
  if (!is_ours(*text)) return Error(path + " was not written by swipr: it is left as it is");
  return true;
}

Result<void> write_file(const std::string& path, const std::string& text) {
  if (auto present = is_there(path); !present) return present.error();
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return host::system_error("cannot write " + path, error.value());
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  ::fchmod(file->fd(), 0644);
  exporters::Sink sink(file->fd(), path);
  sink.write(text);
  if (auto written = sink.flush(); !written) return written.error();
  return file->commit();
}

Result<bool> remove_file(const std::string& path) {
  auto present = is_there(path);
  if (!present || !*present) return present;
  if (::unlink(path.c_str()) != 0) return host::system_error("cannot remove " + path, errno);
  ::rmdir(fs::path(path).parent_path().c_str());  // fails if others are in it
  return true;
}

// Relative to the root that the file is for.
Result<std::string> library_path(const std::string& root) {
  auto path = session::find_installed_preload();
  if (!path) return path.error();
  if (!root.empty() && path->starts_with(root + "/")) path->erase(0, root.size());
  return path;
}

std::string without_specifiers(std::string_view path) {
  std::string text;
  for (const char byte : path) text += byte == '%' ? std::string("%%") : std::string(1, byte);
  return text;
}

void print_hints(const std::string& library, const ServicePlace& place) {
  for (const std::string_view folder : {"/home/", "/root/", "/tmp/"}) {
    if (!library.starts_with(folder) || place.of_user) continue;
    print_note(
        fmt::format("{}: services with ProtectHome or PrivateTmp do not see it; install "
                    "swipr below /usr/local",
                    library));
  }
  if (!place.of_user && place.root.empty() && ::access(kSockets, F_OK) != 0) {
    print_note(fmt::format("{} does not exist: systemd-tmpfiles --create swipr.conf", kSockets));
  }
}

void print_next(const ServicePlace& place) {
  if (!place.root.empty()) return;
  const char* const manager = place.of_user ? "systemctl --user" : "systemctl";
  print_note(fmt::format("next: {} daemon-reload && {} restart {}", manager, manager,
                         shell_quoted(place.name)));
}

Outcome remove(const std::string& path) {
  const auto removed = remove_file(path);
  if (!removed) return removed.error();
  print_note(fmt::format("{} {}", *removed ? "removed" : "nothing to remove: there is no", path));
  return kDone;
}

Outcome install_for_service(const InstallPreloadOptions& options) {
  const ServicePlace place{options.root, options.service, options.of_user};
  const std::string path = drop_in_path(place);
  if (options.removes) {
    Outcome removed = remove(path);
    if (!removed.failed()) print_next(place);
    return removed;
  }
  const auto set = preload_of_service(place);
  if (!set) return Failure{fmt::format("there is no unit {}: nothing is written", place.name)};
  const auto library = library_path(place.root);
  if (!library) return library.error();
  const std::string text = service_drop_in(joined_preload(*set, without_specifiers(*library)));
  if (auto written = write_file(path, text); !written) return written.error();
  print_note("wrote " + path);
  if (!set->empty()) print_note(fmt::format("the service preloads {}, too", *set));
  print_hints(*library, place);
  print_next(place);
  return kDone;
}

Outcome install_for_user(const InstallPreloadOptions& options) {
  const std::string path = fmt::format(
      "{}/environment.d/{}", configuration_folder({options.root, "", true}), kPreloadFile);
  if (options.removes) return remove(path);
  const auto library = library_path(options.root);
  if (!library) return library.error();
  if (auto written = write_file(path, user_environment(*library)); !written) {
    return written.error();
  }
  print_note("wrote " + path);
  print_note("next: log in again; programs of the session begin with the library");
  return kDone;
}

}  // namespace

Outcome run_install_preload(const InstallPreloadOptions& options) {
  if (!options.service.empty() && !is_service_name(options.service)) {
    return Failure{"install-preload: --service " + options.service + " is not a name of a unit",
                   kWrongUsage};
  }
  if (options.of_user && configuration_folder({options.root, "", true}).empty()) {
    return Failure{"HOME is not set: the user's configuration has no folder"};
  }
  return options.service.empty() ? install_for_user(options) : install_for_service(options);
}

}  // namespace swipr::commands
