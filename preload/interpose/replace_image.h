// Common to all exec functions: send the recorded data, and continue if exec fails.
#pragma once

#include "preload/agent/control_thread.h"

namespace swipr::interpose {

template <typename Exec>
auto replace_image(Exec exec) noexcept {
  agent::flush_before_exec();
  const auto result = exec();
  agent::resume_after_exec();
  return result;
}

}  // namespace swipr::interpose
