// Text shared by the formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"
#include "common/host/text/clean_text.h"

namespace swipr::exporters {

using host::clean_text;
using profile::kNoStack;
using profile::kOmittedFrames;

// "app (4711)", "app (4711) and 2 more"
std::string recording_title(const profile::Recording& recording);

// The thread's name, or "thread TID" if it has none.
std::string thread_name(const profile::Thread& thread);

// "samples", "cpu", "wall", "blocked", "runqueue"
std::string_view weight_name(profile::Weight weight);

// "running", "runnable", "blocked", "unknown"
std::string_view state_name(profile::State state);

// The frame for the state of the thread (see StateFrames); empty: it runs, or its state is unknown.
std::string state_frame(const profile::Recording& recording, profile::State state,
                        std::uint32_t stack);

// What of its language runtime the thread waits for: "GIL", "GVL" (Ruby), "monitor
// java.util.Vector", "wait Job" (to be notified), "await" (a task of an event loop); empty: nothing
// that is known.
std::string runtime_wait_text(const profile::Recording& recording, const profile::Stack& stack);

// "poll"; for a call that is not known "[unknown]".
std::string_view syscall_text(std::string_view name);

}  // namespace swipr::exporters
