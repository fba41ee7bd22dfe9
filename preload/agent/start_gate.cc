#include "preload/agent/start_gate.h"

#include "preload/agent/futex.h"

namespace swipr::agent::start_gate {

namespace {
std::atomic<std::uint32_t> opened{0};
}

void close() noexcept { opened.store(0); }

void wait() noexcept { wait_for_change(opened, 0, std::chrono::seconds(2)); }

void open() noexcept {
  opened.store(1);
  futex_wake_all(opened);
}

}  // namespace swipr::agent::start_gate
