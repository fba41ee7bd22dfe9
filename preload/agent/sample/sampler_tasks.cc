// Tasks of asyncio: what each waits for, as the stack of an artificial thread.
#include <span>

#include "preload/agent/base/clock.h"
#include "preload/agent/proc/thread_clock.h"
#include "preload/agent/sample/sampler.h"
#include "preload/unwind/base/code_hash.h"

namespace swipr::agent {

static_assert(TaskWaits::kMaxTasks == runtimes::kMaxPythonTasks);

void Sampler::sample_tasks(Recording& recording, Moment now, bool is_last) noexcept {
  TaskWaits& waits = recording.tasks();
  const std::int64_t tick_ns = recording.accounts().tick_ns();
  if (!waits.is_open() || (is_last ? waits.has_looked_at(tick_ns) : !waits.is_due(now))) return;
  const std::chrono::nanoseconds begun = read_own_clock();
  if (is_last || !waits.has_next()) {
    const TaskList list =
        process_.languages.list_tasks(process_.modules.runtimes(), process_.memory, now);
    waits.begin(list.tasks, list.left_out, tick_ns);
    if (waits.problem() != nullptr) waits.set_problem(list.problem);
  }
  const auto most = is_last ? TaskWaits::kMostAtEnd : TaskWaits::kMostAtOnce;
  std::chrono::nanoseconds spent = read_own_clock() - begun;
  for (; waits.has_next() && spent < most; spent = read_own_clock() - begun) {
    sample_task(recording, waits.next());
  }
  const std::uint32_t left_out = is_last ? waits.left_out() : waits.beyond_limit();
  if (left_out != 0) recording.note_many_tasks(left_out);
  waits.note_cost(spent, now);
}

void Sampler::sample_task(Recording& recording, std::uint64_t task) noexcept {
  TaskWaits& waits = recording.tasks();
  ThreadAccounts& accounts = recording.accounts();
  runtimes::PythonTask parts;
  std::string_view name;
  const runtimes::PythonTaskState state = process_.languages.read_task(
      process_.modules.runtimes(), process_.memory, task, parts, name, frames_);
  if (state == runtimes::PythonTaskState::kMoved) ++recording.counters().tasks_moved;
  if (state != runtimes::PythonTaskState::kWaits) return;
  TaskWaits::Known& known =
      waits.known({task, parts.coroutine, unwind::hash_bytes(std::as_bytes(std::span(name)), 0)});
  const std::int64_t wait_ns = waits.wait_of(known, accounts.tick_ns());
  if (wait_ns <= 0) return;
  const WaitKey wait{.runtime = {RuntimeWait::kAwait, 0}};
  const std::uint32_t stack = intern(recording, frames_, wait);
  std::uint32_t& thread = waits.thread_of(known);
  if (waits.is_other(thread)) name = TaskWaits::kOthers;
  const bool is_new = thread == TaskWaits::kUnknownThread;
  if (accounts.write_task(thread, name, stack, wait_ns)) {
    waits.note_entry(known, accounts.tick_ns(), is_new);
  }
}

}  // namespace swipr::agent
