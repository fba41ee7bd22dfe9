// Threads that sleep at a location that the kernel does not show: a process that dropped its
// privileges cannot open their `syscall` files. One signal is sent per wait; its answer is the
// stack for as long as the wait lasts, and the handler repeats the call.
#include "preload/agent/sample/sampler.h"
#include "preload/handler/signal_handler.h"

namespace swipr::agent {

namespace {

using Asked = HiddenWait::Asked;
using wire::RecordMode;

// Waits without a timeout or with an absolute one: if they are repeated they end at the same time.
// Everybody may read the kernel's function. Source: kernel, kernel/futex, fs/pipe.c.
bool is_timeless(std::string_view wait_channel) noexcept {
  return wait_channel.starts_with("futex_") || wait_channel.starts_with("pipe_") ||
         wait_channel.starts_with("anon_pipe_");
}

}  // namespace

// A thread found asleep by its `stat`. Its clock shows whether it has slept all the time.
Sampler::Look Sampler::look_at_hidden(Recording& recording, std::uint32_t place,
                                      RecordedThread& known) noexcept {
  Thread& thread = process_.threads[place];
  char text[2048];
  const auto switches = parse_voluntary_switches(
      read_task_file(process_.threads.directory(), thread.tid, "status", text));
  if (const auto woken = look_behind_sleep(recording, thread, known)) return *woken;
  HiddenWait& wait = thread.looks.hidden;
  if (!switches || *switches != wait.switches || wait.number == 0) {
    ++wait.number;
    wait.switches = switches.value_or(0);
  }
  const bool is_known =
      known.looks.hidden_wait == wait.number && known.run.is_of(recording.stack_generation());
  if (!is_known) known.run.forget_stack();
  wait.ask_until = !is_known && switches && known.looks.asked_wait != wait.number
                       ? may_ask_until(recording, thread, known)
                       : Moment{};
  if (wait.ask_until != Moment{}) {
    known.looks.asked_wait = wait.number;
    wait.asked = Asked::kYes;
    ++recording.counters().signals_to_blocked;
    return Look::kNeedsSignal;
  }
  settle_hidden(recording, place, known);
  return Look::kSettled;
}

// Moment{}: it gets no signal. The control thread may have waited for a CPU since this tick began.
Moment Sampler::may_ask_until(const Recording& recording, const Thread& thread,
                              const RecordedThread& known) noexcept {
  if (recording.mode() != RecordMode::kWall || !process_.can_signal ||
      !thread.looks.hidden.takes_signals || !handler::restarts_calls()) {
    return {};
  }
  if (monotonic_now() <= known.looks.wait_is_young_until) return known.looks.wait_is_young_until;
  char text[64];
  const auto channel = read_task_file(process_.threads.directory(), thread.tid, "wchan", text);
  return is_timeless(channel) ? kNever : Moment{};
}

void Sampler::settle_hidden(Recording& recording, std::uint32_t place,
                            RecordedThread& known) noexcept {
  note_burst(recording, known);
  read_runqueue(recording, process_.threads[place], known);
  known.run.settle_hidden(recording.stack_generation(), known.account.cpu_ns());
  recording.accounts().end_run(known, known.run.stack(), known.run.thread_state());
}

}  // namespace swipr::agent
