#include "preload/agent/start_gate.h"

#include <unistd.h>

#include "preload/agent/futex.h"

namespace swipr::agent::start_gate {

namespace {
std::atomic<std::uint32_t> opened{0};
}

void close() noexcept {
  waiting_tid.store(0);
  opened.store(0);
}

void enter() noexcept { waiting_tid.store(::gettid()); }

void wait() noexcept {
  wait_for_change(opened, 0, std::chrono::seconds(2));
  waiting_tid.store(0);
}

void open() noexcept {
  opened.store(1);
  futex_wake_all(opened);
}

}  // namespace swipr::agent::start_gate
