#include "cli/commands/output/browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cli/commands/output/terminal.h"

namespace swipr::commands {

namespace {

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

// Errors are ignored, because the address has been printed. The child is reparented to init when
// this program ends.
void open_browser(const std::string& url, const sigset_t& signal_mask) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
  }
  ::posix_spawnattr_setsigmask(&attributes, &signal_mask);
  // In a new process group, so that Ctrl-C does not end the browser.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string program = "xdg-open";
  std::string argument = url;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, "xdg-open", &actions, &attributes, arguments, ::environ) != 0) {
    print_note("cannot start xdg-open; open the address in a browser");
  }
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
}

}  // namespace

void announce(const std::string& url, std::FILE* out, bool opens_browser,
              const sigset_t& signal_mask) {
  fmt::print(out, "{}\n", url);
  std::fflush(out);
  if (opens_browser && has_display()) open_browser(url, signal_mask);
}

}  // namespace swipr::commands
