// Which tasks of asyncio a recording has met, each an artificial thread of it, and when it looks at
// them: at some at a time, so seldom that this costs half of the overhead limit. A look is over
// when all were looked at; the next one begins with a new list. Context: control thread.
// Allocates: memory in create().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/base/moment.h"

namespace swipr::agent {

class TaskWaits {
 public:
  static constexpr std::chrono::milliseconds kMostAtOnce{1};  // CPU time …
  static constexpr std::chrono::milliseconds kMostAtEnd{200};  // … and of the recording's last look
  static constexpr std::uint32_t kUnknownThread = ~std::uint32_t{0};
  static constexpr std::uint32_t kMaxTasks = 4096;

  // Addresses of its objects, which later tasks use again, and a checksum of its name.
  struct Task {
    std::uint64_t task;
    std::uint64_t coroutine;
    std::uint64_t name;
    bool operator==(const Task&) const = default;
  };
  struct Known {
    Task task;
    std::int64_t tick_ns;  // of its last entry
    std::uint32_t thread;  // its number in the stream
  };

  [[nodiscard]] bool create(std::uint32_t max_overhead_permille) noexcept {
    pause_ = 2000 / std::max(max_overhead_permille, 1u) + 1;
    state_ = static_cast<State*>(map_memory(round_to_pages(sizeof(State))));
    return state_ != nullptr;
  }
  void release() noexcept {
    if (state_ != nullptr) unmap_memory(state_, round_to_pages(sizeof(State)));
    state_ = nullptr;
  }
  // False: this recording has no tasks.
  bool is_open() const noexcept { return state_ != nullptr; }

  // --- a look
  bool is_due(Moment now) const noexcept { return now >= due_; }
  bool has_looked_at(std::int64_t tick_ns) const noexcept {
    return begun_ns_ == tick_ns && !has_next();
  }
  bool has_next() const noexcept { return next_ < count_; }
  // The next look has these tasks, and `beyond_limit` others. It continues one that is not over.
  void begin(std::span<const std::uint64_t> tasks, std::uint32_t beyond_limit,
             std::int64_t tick_ns) noexcept {
    if (!has_next()) before_ns_ = begun_ns_;
    begun_ns_ = tick_ns;
    next_ = 0;
    count_ = static_cast<std::uint32_t>(std::min<std::size_t>(tasks.size(), kMaxTasks));
    std::copy_n(tasks.begin(), count_, state_->tasks);
    beyond_limit_ = beyond_limit;
  }
  std::uint64_t next() noexcept { return state_->tasks[next_++]; }
  std::uint32_t beyond_limit() const noexcept { return beyond_limit_; }
  // If the look ends here.
  std::uint32_t left_out() const noexcept { return beyond_limit_ + count_ - next_; }
  void note_cost(std::chrono::nanoseconds cost, Moment now) noexcept { due_ = now + cost * pause_; }

  // --- a task
  Known& known(const Task& task) noexcept {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
    const std::uint64_t first = (task.task * kOdd >> 32) % (kPlaces - kProbes);
    Known* oldest = &state_->known[first];
    for (std::uint64_t at = first; at < first + kProbes; ++at) {
      Known& each = state_->known[at];
      if (each.task == task) return each;
      if (each.tick_ns < oldest->tick_ns) oldest = &each;
    }
    *oldest = {task, -1, kUnknownThread};
    return *oldest;
  }
  // What the task waited until this tick: since its last entry, if the look before saw it wait,
  // too. Otherwise it stands for those that this place of the list had since then.
  std::int64_t wait_of(const Known& known, std::int64_t tick_ns) const noexcept {
    if (known.tick_ns >= before_ns_ && known.thread != kUnknownThread) {
      return tick_ns - known.tick_ns;
    }
    return before_ns_ == 0 ? tick_ns : begun_ns_ - before_ns_;
  }
  // Where to keep the number of its thread. In long recordings tasks come without end: when so many
  // have a thread, the others share one, kOthers.
  static constexpr std::string_view kOthers = "task [others]";
  std::uint32_t& thread_of(Known& known) noexcept {
    const bool has_own = known.thread != kUnknownThread || named_count_ < kPlaces;
    return has_own ? known.thread : others_;
  }
  bool is_other(const std::uint32_t& thread) const noexcept { return &thread == &others_; }
  void note_entry(Known& known, std::int64_t tick_ns, bool is_new) noexcept {
    known.tick_ns = tick_ns;
    if (is_new) ++named_count_;
  }

  // Why there was none so far: static text; nullptr: there was one.
  const char* problem() const noexcept { return problem_; }
  void set_problem(const char* text) noexcept { problem_ = text; }

 private:
  static constexpr std::size_t kPlaces = std::size_t{4} * kMaxTasks;
  static constexpr std::size_t kProbes = 8;  // the oldest of them is replaced
  struct State {
    std::uint64_t tasks[kMaxTasks];
    Known known[kPlaces];
  };

  State* state_ = nullptr;
  std::uint32_t pause_ = 0;  // times the cost
  std::uint32_t next_ = 0;
  std::uint32_t count_ = 0;  // of the look
  std::uint32_t beyond_limit_ = 0;
  std::int64_t before_ns_ = 0;  // when the last look began that is over
  std::int64_t begun_ns_ = 0;
  Moment due_{0};
  std::uint32_t named_count_ = 0;
  std::uint32_t others_ = kUnknownThread;
  const char* problem_ = "no task of asyncio was found: they could not be read in time";
};

}  // namespace swipr::agent
