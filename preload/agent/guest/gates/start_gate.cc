#include "preload/agent/guest/gates/start_gate.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "preload/agent/base/futex.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/threads/own_waiters.h"

namespace swipr::agent::start_gate {

namespace {
std::atomic<std::uint32_t> opened{0};
}

void close() noexcept {
  own_waiters::starting_tid.store(0);
  opened.store(0);
}

void enter() noexcept { own_waiters::starting_tid.store(libc::gettid()); }

void wait() noexcept {
  wait_for_change(opened, 0, std::chrono::seconds(2));
  own_waiters::starting_tid.store(0);
}

void open() noexcept {
  opened.store(1);
  futex_wake_all(opened);
}

}  // namespace swipr::agent::start_gate
