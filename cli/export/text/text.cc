#include "cli/export/text/text.h"

#include <fmt/format.h>

#include <array>

#include "cli/profile/group/aggregate.h"
#include "cli/profile/tables/lock_waits.h"

namespace swipr::exporters {

std::string recording_title(const profile::Recording& recording) {
  if (recording.processes.empty()) return "swipr";
  const profile::Process& first = recording.processes.front();
  const std::size_t more = recording.processes.size() - 1;
  return fmt::format("{} ({}){}", first.command_name, first.pid.value,
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

std::string thread_name(const profile::Thread& thread) {
  if (thread.name.empty()) return fmt::format("thread {}", thread.tid.value);
  return clean_text(thread.name);
}

std::string_view weight_name(profile::Weight weight) {
  constexpr std::array<std::string_view, profile::kWeightCount> kNames = {"samples", "cpu", "wall",
                                                                          "blocked", "runqueue"};
  return kNames[profile::index_of(weight)];
}

std::string_view state_name(profile::State state) {
  switch (state) {
    case profile::State::kRunning:
      return "running";
    case profile::State::kRunnable:
      return "runnable";
    case profile::State::kBlocked:
      return "blocked";
    case profile::State::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view syscall_text(std::string_view name) { return name.empty() ? "[unknown]" : name; }

std::string runtime_wait_text(const profile::Recording& recording, const profile::Stack& stack) {
  const auto with_type = [&stack](std::string_view what) {
    return stack.wait_type.empty() ? std::string(what)
                                   : fmt::format("{} {}", what, clean_text(stack.wait_type));
  };
  switch (stack.runtime_wait) {
    case RuntimeWait::kGil:
      return std::string(profile::interpreter_lock(recording));
    case RuntimeWait::kMonitor:
      return with_type("monitor");
    case RuntimeWait::kCondition:
      return with_type("wait");
    case RuntimeWait::kPark:
      return with_type("park");
    case RuntimeWait::kAwait:
      return "await";
    case RuntimeWait::kMutex:  // the stack shows it
    case RuntimeWait::kRwlock:
    case RuntimeWait::kNone:
      break;
  }
  return {};
}

std::string state_frame(const profile::Recording& recording, profile::State state,
                        std::uint32_t stack) {
  if (state == profile::State::kRunnable) return "[runnable]";
  if (state != profile::State::kBlocked) return {};
  if (stack == profile::kNone) return "[blocked]";
  if (const std::string wait = runtime_wait_text(recording, recording.stacks[stack]);
      !wait.empty()) {
    return fmt::format("[{}]", wait);
  }
  const std::string& syscall = recording.stacks[stack].wait_syscall;
  return fmt::format("[{}]", syscall.empty() ? "blocked" : syscall);
}

}  // namespace swipr::exporters
