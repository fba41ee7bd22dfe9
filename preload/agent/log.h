// One line to where SWIPR_LOG points, nothing at all without it.
// Context: control thread, or the constructor before that thread exists.
#pragma once

#include <string_view>

#include "preload/agent/settings.h"

namespace swipr::agent {

// Opens the destination in the calling thread's descriptor table. "1" and "stderr": a copy of
// descriptor 2; anything else: a file that is appended to.
void open_log(const Settings& settings) noexcept;
void close_log() noexcept;

void log_line(std::string_view what, std::string_view detail = {}, int error_code = 0) noexcept;

}  // namespace swipr::agent
