// Runs `swipr answer` so that the recorded program never sees a child.
// Context: control thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/guest/settings.h"
#include "preload/agent/serve/request/sample_request.h"

namespace swipr::agent {

// Finds the swipr program: SWIPR_PROGRAM, else beside this library, else in PATH. False: not found.
bool find_swipr_program(const Settings& settings, TextWriter& path) noexcept;

// A running helper. `input` is the agent's end of its standard input (a socket, non-blocking); it
// reports a hang-up when the helper and its intermediate parent have ended.
struct HelperProcess {
  pid_t pid = -1;
  int input = -1;
  void* memory = nullptr;  // of the intermediate process
};

struct HelperOptions {
  const char* program = nullptr;
  AnswerFormat format = AnswerFormat::kPerf;
  const char* disposition = nullptr;  // suggested file name
  int client = -1;                    // becomes the standard output
};

// nullptr: started. Otherwise a static error message.
const char* start_helper(const Settings& settings, const HelperOptions& options,
                         HelperProcess& out) noexcept;

enum class HelperState : std::uint8_t { kRunning, kAnswered, kNotStarted };
// Reaps the helper if it has ended, and frees its resources. kNotStarted: it could not be executed
// and has written nothing.
HelperState try_reap_helper(HelperProcess& helper) noexcept;
// Frees its memory. Only once no process uses it: after reaping it, or in the child of a fork.
void release_helper_memory(HelperProcess& helper) noexcept;

}  // namespace swipr::agent
