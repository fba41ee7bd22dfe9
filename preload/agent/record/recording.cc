#include "preload/agent/record/recording.h"

#include <unistd.h>

#include <algorithm>

#include "common/wire/names.h"
#include "preload/agent/base/clock.h"
#include "preload/agent/proc/thread_clock.h"

namespace swipr::agent {

namespace {

constexpr std::chrono::milliseconds kCollectDelay{1};
// Shorter intervals collect at the next tick: a wake-up of its own would cost more than it brings.
constexpr std::chrono::milliseconds kCollectAtNextTick{20};
constexpr std::chrono::milliseconds kSendInterval{50};
// A thread that does not get a CPU for longer goes without a stack for the last tick.
constexpr std::chrono::milliseconds kLastAnswers{100};
constexpr std::chrono::seconds kTotalsInterval{1};
constexpr std::int64_t kLongRunNs = 1'000'000'000;

std::uint64_t unsigned_of(std::int64_t value) noexcept {
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

// In another user namespace the id of this process's user is one of another user outside.
bool has_users_of_the_host() noexcept {
  char text[256];
  return maps_every_user_to_itself(read_file_at(-1, "/proc/self/uid_map", text));
}

}  // namespace

bool Recording::create(const RecordingRequest& request, OutputQueue& output, Moment now,
                       const char** error) noexcept {
  request_ = request;
  output_ = &output;
  start_ = sent_at_ = totals_at_ = now;
  start_realtime_ns_ = clock_ns(CLOCK_REALTIME);
  schedule_.start(request, now, random_seed());
  if (writer_.create(output) && stacks_.create(request.max_stacks)) return true;
  *error = "no memory for another recording";
  release();
  return false;
}

void Recording::release() noexcept {
  writer_.release();
  stacks_.release();
  threads_.release();
  next_looks_.release();
  staged_.release();
  told_code_.release();
  told_modules_.release();
}

bool Recording::write_beginning(const ProcessIdentity& identity) noexcept {
  std::byte header_bytes[wire::kFileHeaderBytes];
  wire::Encoder header(header_bytes);
  wire::encode_file_header(header);
  if (!output_->try_append(header.bytes())) return false;
  char arguments[8192];  // longer command lines are cut
  wire::SourceRecord source{
      .pid = static_cast<std::uint64_t>(::getpid()),
      .parent_pid = static_cast<std::uint64_t>(::getppid()),
      .start_realtime_ns = start_realtime_ns_,
      .start_monotonic_ns = unsigned_of(start_.count()),
      .interval_ns = unsigned_of(request_.interval.count()),
      .ticks_asked = request_.ticks,
      .machine = 62,  // EM_X86_64
      .agent_version = SWIPR_VERSION,
      .command_name = identity.command_name,
      .executable = identity.executable,
      .command_line = request_.omits_arguments ? std::string_view()
                                               : read_file_at(-1, "/proc/self/cmdline", arguments),
      .mode = request_.mode,
      .jitter = request_.jitter,
  };
  return writer_.put([&source](wire::Encoder& out) { wire::encode(out, source); });
}

void Recording::write_user() noexcept {
  const uid_t user = ::geteuid();
  if (user == written_user_) return;
  const auto put = [this, user] {
    return writer_.put([user](wire::Encoder& out) { wire::encode(out, wire::UserRecord{user}); });
  };
  if (!has_users_of_the_host() || put()) written_user_ = user;
}

// --- schedule

bool Recording::is_over(Moment now) const noexcept {
  if (tick_open_) return false;
  if (request_.ticks != 0 && schedule_.has_passed_all()) return true;
  return request_.duration.count() > 0 && now >= start_ + request_.duration;
}

Moment Recording::next_deadline() const noexcept {
  if (complete_) return kNever;
  const Moment next = tick_open_ ? std::min(collect_at_, schedule_.next()) : schedule_.next();
  if (request_.duration.count() == 0) return next;
  // Behind the last tick there is still its collect point.
  const Moment end = start_ + request_.duration;
  return tick_open_ ? std::min(next, std::max(end, collect_at_)) : std::min(next, end);
}

void Recording::set_complete() noexcept { complete_ = true; }

// --- a tick

void Recording::begin_tick(Moment now) noexcept {
  ++counters_.ticks;
  counters_.ticks_missed += schedule_.pass(now) - 1;
  previous_tick_ns_ = tick_ns_;
  tick_ns_ = (now - start_).count();
  tick_open_ = true;
  if (budget_.window_is_over(now)) budget_.close_window(now, read_own_clock());
  const bool last = schedule_.next() == kNever;
  collect_at_ =
      last || request_.interval > kCollectAtNextTick ? now + kCollectDelay : schedule_.next();
}

bool Recording::put_off_last_collect(Moment now) noexcept {
  const bool last = schedule_.next() == kNever;
  if (!last || now >= start_ + std::chrono::nanoseconds(tick_ns_) + kLastAnswers) return false;
  collect_at_ = now + kCollectDelay;
  return true;
}

void Recording::close_tick(const ModuleMap& modules, ThreadList& threads) noexcept {
  sync_modules(modules, threads);
  write_staged(threads);
  tick_open_ = false;
}

void Recording::send(Moment now) noexcept {
  if (!complete_ && now - totals_at_ >= kTotalsInterval) {
    freeze_clocks();
    if (write_totals()) totals_at_ = now;
  }
  const bool waited = now - sent_at_ + request_.interval >= kSendInterval;
  if (waited || writer_.pending_bytes() >= BlockWriter::kWorthSendingBytes) {
    send_now(now);
  }
}

RecordedThread* Recording::find_thread(std::uint32_t place, const Thread& thread) noexcept {
  if (place >= threads_.size() || threads_[place].generation != thread.generation) return nullptr;
  return &threads_[place];
}

RecordedThread* Recording::thread(std::uint32_t place, const Thread& thread, std::int64_t clock_ns,
                                  bool existed) noexcept {
  if (RecordedThread* known = find_thread(place, thread)) return known;
  if (place >= threads_.size() && !threads_.resize(place + 1)) return nullptr;
  RecordedThread& met = threads_[place];
  met = RecordedThread{};
  met.generation = thread.generation;
  met.index = next_thread_index_++;
  if (existed) {
    met.written.cpu_ns = clock_ns;
  } else {
    // In the middle of where it can lie, but early enough for the CPU time that it has used.
    const std::int64_t middle = previous_tick_ns_ + (tick_ns_ - previous_tick_ns_) / 2;
    met.start_ns = std::clamp(std::min(middle, tick_ns_ - clock_ns), std::int64_t{0}, tick_ns_);
  }
  met.written.wall_ns = met.stream_ns = met.run_ns = met.start_ns;
  met.run_cpu_ns = met.written.cpu_ns;
  met.written.off_cpu_ns = met.start_ns - met.run_cpu_ns;
  met.counted_ticks = existed || counters_.ticks == 0 ? counters_.ticks : counters_.ticks - 1;
  ++counters_.threads;
  return &met;
}

void Recording::extend_run(RecordedThread& thread, std::int64_t clock_ns) noexcept {
  auto ticks = static_cast<std::uint32_t>(counters_.ticks - thread.counted_ticks);
  if (request_.mode != wire::RecordMode::kWall) {
    // What it did at ticks that did not look is known only of a thread that has not run.
    if (clock_ns != thread.run_cpu_ns) {
      ticks = std::min(ticks, 1u);
    } else if (request_.mode == wire::RecordMode::kCpu) {
      ticks = 0;
    }
  }
  thread.run_ticks += ticks;
  thread.counted_ticks = counters_.ticks;
  thread.run_ns = tick_ns_;
  note_cpu(thread, clock_ns);
}

void Recording::plan_look(std::uint32_t place, Activity activity) noexcept {
  const std::uint32_t period = budget_.period(activity);
  if (period == 1 && place >= next_looks_.size()) return;
  if (place >= next_looks_.size() && !next_looks_.resize(threads_.size())) return;
  // Each place has its own turn within the period: the cost is the same at every tick.
  next_looks_[place] = tick_number() + period - (tick_number() + place) % period;
}

void Recording::note_stretched() noexcept {
  ++counters_.ticks_stretched;
  if (stretch_told_) return;
  stretch_told_ = write_message(wire::MessageLevel::kNote,
                                "threads that had used hardly any CPU time since their last look "
                                "(asleep, or waiting for a CPU) were looked at less often, to keep "
                                "swipr's CPU time below --max-overhead; their times stay exact");
}

void Recording::note_blocked_signal() noexcept {
  if (blocked_signal_told_) return;
  blocked_signal_told_ = write_message(
      wire::MessageLevel::kWarning,
      "some threads block the sampling signal (SIGURG, SIGWINCH, or SWIPR_SIGNAL): while they run "
      "they have no stacks; their times are exact");
}

void Recording::note_muted_thread() noexcept {
  if (muted_thread_told_) return;
  muted_thread_told_ = write_message(
      wire::MessageLevel::kWarning,
      "some threads did not answer 16 signals in a row and were not signalled for a second: for "
      "that time they have no stacks; their times are exact");
}

void Recording::skip_to_now(RecordedThread& thread, std::int64_t clock_ns) noexcept {
  thread.run_ns = tick_ns_;
  thread.run_cpu_ns = clock_ns;
  thread.written = {tick_ns_, clock_ns, thread.run_runqueue_ns, tick_ns_ - clock_ns};
  thread.counted_ticks = counters_.ticks;
}

void Recording::end_run(std::uint32_t place, RecordedThread& thread, std::uint32_t stack,
                        wire::ThreadState state) noexcept {
  const bool split = thread.is_timed && request_.mode == wire::RecordMode::kWall;
  if (thread.run_ticks == 0 && !split) return;
  if (state == wire::ThreadState::kUnknown && request_.mode != wire::RecordMode::kWall) {
    return leave_out_run(thread);
  }
  // What stands for the CPU time of a timed thread stays in the run, for the stack of that.
  const std::uint32_t kept = split ? std::min(cpu_ticks(thread), thread.run_ticks) : 0;
  const std::uint32_t ticks = thread.run_ticks - kept;
  const Part part = split ? Part::kOffCpu : Part::kAll;
  if (!stage(place, thread, stack, state, ticks, part)) counters_.samples_dropped += ticks;
  thread.run_ticks = kept;
}

void Recording::end_queued_run(std::uint32_t place, RecordedThread& thread,
                               std::uint32_t stack) noexcept {
  if (thread.run_ticks == 0) return;
  // The kernel adds a wait to schedstat when it is over: the sum gets there later.
  if (splits_runqueue_) {
    thread.run_runqueue_ns = thread.written.runqueue_ns + (thread.run_ns - thread.run_cpu_ns) -
                             thread.written.off_cpu_ns;
  }
  end_run(place, thread, stack, wire::ThreadState::kRunnable);
}

void Recording::end_open_run(std::uint32_t place, RecordedThread& thread) noexcept {
  if (!holds(thread)) return end_run(place, thread, 0, thread.state);
  if (thread.state == wire::ThreadState::kRunnable) {
    return end_queued_run(place, thread, thread.stack);
  }
  end_run(place, thread, thread.stack, thread.state);
}

bool Recording::stage(std::uint32_t place, const RecordedThread& thread, std::uint32_t stack,
                      wire::ThreadState state, std::uint32_t ticks, Part part) noexcept {
  return stage_until(place, thread, stack, state, ticks, part, thread.run_cpu_ns);
}

bool Recording::stage_until(std::uint32_t place, const RecordedThread& thread, std::uint32_t stack,
                            wire::ThreadState state, std::uint32_t ticks, Part part,
                            std::int64_t cpu_ns) noexcept {
  return staged_.push_back(
      {.place = place,
       .index = thread.index,
       .stack = stack,
       .ticks = ticks,
       .state = state,
       .part = part,
       .until = {thread.run_ns, cpu_ns, thread.run_runqueue_ns, thread.run_ns - cpu_ns}});
}

bool Recording::is_long(const RecordedThread& thread) const noexcept {
  return tick_ns_ - thread.written.wall_ns >= kLongRunNs;
}

std::uint32_t Recording::intern(const unwind::FrameBuffer& frames, WaitKey wait, bool& is_new,
                                const ModuleMap& modules, ThreadList& threads) noexcept {
  ++counters_.stacks_walked;
  if ((frames.flags & wire::kStackRootReached) != 0) ++counters_.stacks_rooted;
  if ((frames.flags & wire::kStackCut) != 0) ++counters_.stacks_cut;
  std::uint32_t id = stacks_.intern(frames, wait, is_new);
  if (id != 0) return id;
  sync_modules(modules, threads);
  start_stack_generation(threads);
  return stacks_.intern(frames, wait, is_new);
}

}  // namespace swipr::agent
