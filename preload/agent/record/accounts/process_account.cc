#include "preload/agent/record/accounts/process_account.h"

#include "preload/agent/proc/thread_clock.h"
#include "preload/agent/record/stream/growth.h"

namespace swipr::agent {

void ProcessAccount::start(std::chrono::nanoseconds agent_cpu_before) noexcept {
  freeze();
  start_agent_cpu_ns_ = agent_cpu_before.count();
  start_process_cpu_ns_ = end_process_cpu_ns_ - (end_agent_cpu_ns_ - start_agent_cpu_ns_);
}

void ProcessAccount::freeze() noexcept {
  end_process_cpu_ns_ = read_process_clock().count();
  end_agent_cpu_ns_ = read_own_clock().count();
}

void ProcessAccount::close(std::int64_t attributed_cpu_ns, std::uint32_t live_threads) noexcept {
  freeze();
  end_process_cpu_ns_ -= beyond_cpu_ns_;
  const std::int64_t agent_cpu_ns = end_agent_cpu_ns_ - start_agent_cpu_ns_;
  const std::int64_t rest_ns =
      end_process_cpu_ns_ - start_process_cpu_ns_ - agent_cpu_ns - attributed_cpu_ns;
  // Threads continue to run while the clocks are read one after the other.
  const std::int64_t uncertain_ns = 1'000'000 + std::int64_t{1'000} * live_threads;
  if (rest_ns > uncertain_ns) ended_cpu_ns_ = rest_ns;
  if (rest_ns < 0) end_process_cpu_ns_ -= rest_ns;
}

std::uint64_t ProcessAccount::process_cpu_ns() const noexcept {
  return growth(start_process_cpu_ns_, end_process_cpu_ns_);
}

std::uint64_t ProcessAccount::agent_cpu_ns() const noexcept {
  return growth(start_agent_cpu_ns_, end_agent_cpu_ns_);
}

}  // namespace swipr::agent
