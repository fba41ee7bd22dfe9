// Text answers of the agent: help, /v1/info, /debug/pprof/.
// Context: control thread. Allocates: never; text that does not fit sets the overflow of `out`.
#pragma once

#include <span>
#include <string_view>

#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/engine/recorder.h"
#include "preload/agent/guest/settings.h"
#include "preload/agent/serve/listener.h"
#include "preload/agent/serve/request/sample_request.h"

namespace swipr::agent {

// Contains curl commands that work unchanged for a client of this listener. `listener` null: the
// request came over a connection that the agent made itself.
void write_help(const Listener* listener, TextWriter& out) noexcept;
void write_info_json(const Settings& settings, const Listener& default_listener,
                     const RecorderCounters& counters, std::span<const FoundRuntime> runtimes,
                     TextWriter& out) noexcept;
void write_pprof_index(TextWriter& out) noexcept;
void write_command_line(TextWriter& out) noexcept;  // NUL-separated, as on Go's page

// samples-<pid>-<time>.<ending>
void write_file_name(AnswerFormat format, TextWriter& out) noexcept;

}  // namespace swipr::agent
