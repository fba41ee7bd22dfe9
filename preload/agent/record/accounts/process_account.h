// The CPU time of the whole process during one recording. Context: control thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace swipr::agent {

class ProcessAccount {
 public:
  // CPU time used from now on counts; that of the control thread, since its clock showed
  // `agent_cpu_before`: making the recording is most of the cost of a short one.
  void start(std::chrono::nanoseconds agent_cpu_before) noexcept;
  // Up to now.
  void freeze() noexcept;
  // The time that a thread ran after the last tick is not attributed.
  void leave_out(std::int64_t cpu_ns) noexcept { beyond_cpu_ns_ += cpu_ns; }
  // The last freeze. CPU time of the process that is not that of a known thread was used by threads
  // that ended between two ticks.
  void close(std::int64_t attributed_cpu_ns, std::uint32_t live_threads) noexcept;

  std::uint64_t process_cpu_ns() const noexcept;
  std::uint64_t agent_cpu_ns() const noexcept;  // of the control thread
  std::int64_t ended_cpu_ns() const noexcept { return ended_cpu_ns_; }

 private:
  std::int64_t start_process_cpu_ns_ = 0;
  std::int64_t start_agent_cpu_ns_ = 0;
  std::int64_t end_process_cpu_ns_ = 0;
  std::int64_t end_agent_cpu_ns_ = 0;
  std::int64_t beyond_cpu_ns_ = 0;
  std::int64_t ended_cpu_ns_ = 0;
};

}  // namespace swipr::agent
