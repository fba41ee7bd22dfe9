// Constructor and destructor of the preloaded library. The only file that depends on being
// preloaded.
#include <errno.h>  // program_invocation_name
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string_view>

#include "preload/agent/base/log.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/control_thread.h"
#include "preload/agent/guest/libc_family.h"
#include "preload/agent/guest/published_socket.h"
#include "preload/agent/guest/settings.h"

// Found by its name: include/swipr/swipr.h.
extern "C" [[gnu::visibility("default")]] constinit swipr_place swipr_place_1;
constinit swipr_place swipr_place_1{};

namespace swipr::agent {

namespace {

char settings_arena[kSettingsArenaBytes];

std::string_view last_component(std::string_view path) noexcept {
  return skip(path, path.rfind('/') + 1);
}

// Names by which users refer to a program: its first argument, its name in ps, its file.
bool sleeps_in_this_program(const Settings& settings, const char* first_argument) noexcept {
  char thread_name[16] = {};
  ::prctl(PR_GET_NAME, thread_name);
  PathText executable;
  const ssize_t length =
      ::readlink("/proc/self/exe", executable.free_space().data(), executable.free_space().size());
  if (length > 0) executable.grow(static_cast<std::size_t>(length));
  const std::string_view names[] = {last_component(first_argument), thread_name,
                                    last_component(executable.view())};
  return is_asleep(settings, names);
}

// How a program was started.
struct Start {
  const char* first_argument;
  char** environment;
};

// glibc passes arguments to constructors, which run before `environ` is set up; musl sets it up
// first, and passes none.
Start start_of(int argc, char** argv, char** environment) noexcept {
  if (is_musl()) return {::program_invocation_name, ::environ};
  return {argc > 0 && argv[0] != nullptr ? argv[0] : "", environment};
}

[[gnu::constructor]] void on_load(int argc, char** argv, char** environment) {
  // In a program with more privileges than its caller, the caller's environment is ignored.
  if (::getauxval(AT_SECURE) != 0) return;
  find_wrapped_functions();
  const Start start = start_of(argc, argv, environment);
  const Settings settings = parse_settings(start.environment, settings_arena, start.first_argument);
  configure_log(settings.log, parse_log_level(settings.log_level));
  if (sleeps_in_this_program(settings, start.first_argument)) {
    return log_from_program(LogLevel::kInfo,
                            settings.disabled ? "disabled: SWIPR_DISABLE is set"
                                              : "disabled: SWIPR_ONLY does not match this program",
                            start.first_argument);
  }
  set_published_place(swipr_place_1);
  start_control_thread(settings);
}

[[gnu::destructor]] void on_exit() { finish_before_exit(); }

}  // namespace

}  // namespace swipr::agent
