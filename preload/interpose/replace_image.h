// What every way to exec does: send what is recorded, and go on where exec fails.
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
