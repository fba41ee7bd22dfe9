#include "preload/agent/record/recording.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/wire/names.h"
#include "preload/agent/base/clock.h"
#include "preload/agent/proc/thread_clock.h"
#include "preload/agent/record/stream/growth.h"
#include "preload/labels/thread_labels.h"
#include "preload/unwind/base/architecture.h"

namespace swipr::agent {

namespace {

constexpr std::chrono::milliseconds kCollectDelay{1};
// With shorter intervals, answers are collected at the next tick: a separate wake-up would cost too
// much.
constexpr std::chrono::milliseconds kCollectAtNextTick{20};
constexpr std::chrono::milliseconds kSendInterval{50};
// A thread that gets no CPU for longer has no stack for the last tick.
constexpr std::chrono::milliseconds kLastAnswers{100};
constexpr std::chrono::seconds kTotalsInterval{1};

// In another user namespace the uid of this process means another user outside.
bool has_users_of_the_host() noexcept {
  char text[256];
  return maps_every_user_to_itself(read_file_at(-1, "/proc/self/uid_map", text));
}

ProbeSettings settings_of(const RecordingRequest& request) noexcept {
  return {.budget_permille = request.max_overhead_permille,
          .interval = request.latency_interval,
          .slower_ns = static_cast<std::uint64_t>(request.slower.count()),
          .slower_quantile = request.slower_quantile,
          .slow_frames = request.slow_frames,
          .has_sites = !request.sites.empty(),
          .by_thread = request.by_thread,
          .joins_samples = request.sampling};
}

}  // namespace

bool Recording::create(const RecordingRequest& request, OutputQueue& output, Moment now,
                       const char** error) noexcept {
  request_ = request;
  request_.probes = request_.sites =
      request_.strings = {};  // the client's text ends with the request
  output_ = &output;
  start_ = sent_at_ = totals_at_ = now;
  start_realtime_ns_ = clock_ns(CLOCK_REALTIME);
  schedule_.start(request, now, random_seed());
  accounts_.configure(request.mode, request.interval.count());
  // CPU time is all that counts in the other mode, and tasks have none.
  const bool has_tasks = request.tasks && request.mode != wire::RecordMode::kCpu;
  const bool has_probes = !request.probes.empty();
  if (stream_.create(output, request.max_stacks) &&
      (!has_tasks || tasks_.create(request.max_overhead_permille)) &&
      (!has_probes || probes_.create(wire::kMostProbes, settings_of(request))))
    return true;
  *error = "no memory for another recording";
  release();
  return false;
}

void Recording::release() noexcept {
  stream_.release();
  accounts_.release();
  tasks_.release();
  modules_.release();
  code_.release();
  probes_.release();
  next_looks_.release();
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
      .start_monotonic_ns = growth(0, start_.count()),
      .interval_ns = growth(0, request_.interval.count()),
      .ticks_asked = request_.ticks,
      .machine = unwind::kElfMachine,
      .agent_version = SWIPR_VERSION,
      .command_name = identity.command_name,
      .executable = identity.executable,
      .command_line = request_.omits_arguments ? std::string_view()
                                               : read_file_at(-1, "/proc/self/cmdline", arguments),
      .mode = request_.mode,
      .jitter = request_.jitter,
  };
  return stream_.put_record(source);
}

void Recording::write_user() noexcept {
  const uid_t user = ::geteuid();
  if (user == written_user_) return;
  if (!has_users_of_the_host() || stream_.put_record(wire::UserRecord{user})) written_user_ = user;
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
  // After the last tick, its answers still have to be collected.
  const Moment end = start_ + request_.duration;
  return tick_open_ ? std::min(next, std::max(end, collect_at_)) : std::min(next, end);
}

// --- a tick

void Recording::begin_tick(Moment now) noexcept {
  ++counters_.ticks;
  counters_.ticks_missed += schedule_.pass(now) - 1;
  accounts_.begin_tick((now - start_).count());
  tick_open_ = true;
  if (budget_.window_is_over(now)) budget_.close_window(now, read_own_clock());
  const bool last = schedule_.next() == kNever;
  collect_at_ =
      last || request_.interval > kCollectAtNextTick ? now + kCollectDelay : schedule_.next();
}

bool Recording::put_off_last_collect(Moment now) noexcept {
  const bool last = schedule_.next() == kNever;
  if (!last || now >= start_ + std::chrono::nanoseconds(accounts_.tick_ns()) + kLastAnswers)
    return false;
  collect_at_ = now + kCollectDelay;
  return true;
}

void Recording::close_tick(const ModuleMap& modules, ThreadList& threads) noexcept {
  sync_modules(modules, threads);
  write_staged(threads);
  if (!samples() && tick_open_) accounts_.write_empty_tick();
  tick_open_ = false;
}

void Recording::send(Moment now) noexcept {
  if (!complete_ && now - totals_at_ >= kTotalsInterval) {
    process_.freeze();
    if (write_totals()) totals_at_ = now;
  }
  const bool waited = now - sent_at_ + request_.interval >= kSendInterval;
  if (waited || stream_.is_worth_sending()) {
    send_now(now);
  }
}

void Recording::plan_look(std::uint32_t place, Activity activity) noexcept {
  const std::uint32_t period = budget_.period(activity);
  if (period == 1 && place >= next_looks_.size()) return;
  if (place >= next_looks_.size() && !next_looks_.resize(place + 1)) return;
  // The places are spread over the period, so that the cost is the same at every tick.
  next_looks_[place] = tick_number() + period - (tick_number() + place) % period;
}

void Recording::note_stretched() noexcept {
  ++counters_.ticks_stretched;
  if (stretch_told_) return;
  stretch_told_ = stream_.write_message(wire::MessageLevel::kNote,
                                        "threads that used hardly any CPU time because they slept "
                                        "were sampled less often to keep swipr's CPU time below "
                                        "--max-overhead; their times are exact");
}

void Recording::note_blocked_signal() noexcept {
  if (blocked_signal_told_) return;
  blocked_signal_told_ = stream_.write_message(
      wire::MessageLevel::kWarning,
      "some threads block the sampling signal (SIGURG, SIGWINCH, or SWIPR_SIGNAL): they have no "
      "stacks for the time that they run; their times are exact");
}

void Recording::note_muted_thread() noexcept {
  if (muted_thread_told_) return;
  muted_thread_told_ = stream_.write_message(
      wire::MessageLevel::kWarning,
      "some threads did not respond to 16 signals in a row and were not signalled for a second: "
      "they have no stacks for that second; their times are exact");
}

void Recording::start_accounts(Moment now, std::chrono::nanoseconds agent_cpu_before) noexcept {
  process_.start(agent_cpu_before);
  labels_lost_before_ = labels::lost_count();
  labels_cut_before_ = labels::cut_count();
  budget_.start(request_.max_overhead_permille, request_.interval, now, read_own_clock());
  write_totals();  // exec may replace the image before there are others
}

void Recording::drop_thread(std::uint32_t place, const Thread& thread) noexcept {
  if (place < next_looks_.size()) next_looks_[place] = 0;
  accounts_.drop(place, thread);
}

void Recording::close_account(RecordedThread& thread, std::int64_t cpu_ns) noexcept {
  if (accounts_.leaves_out(thread)) return accounts_.extend_run(thread, cpu_ns);
  process_.leave_out(cpu_ns - thread.account.cpu_ns());
}

void Recording::note_clock_bound_bursts() noexcept {
  if (clock_bound_told_) return;
  clock_bound_told_ = stream_.write_message(
      wire::MessageLevel::kNote,
      "some threads run in short bursts, which ticks could not sample in time or often enough: "
      "their stacks were taken at the kernel's clock interrupt; if the bursts are synchronous with "
      "it, the shares of their functions are wrong");
}

void Recording::note_many_tasks(std::uint32_t left_out) noexcept {
  counters_.tasks_left_out = std::max<std::uint64_t>(counters_.tasks_left_out, left_out);
  if (many_tasks_told_) return;
  static_assert(TaskWaits::kMaxTasks == 4096);
  many_tasks_told_ = stream_.write_message(wire::MessageLevel::kWarning,
                                           "there are more tasks of asyncio than 4,096, or than "
                                           "the time for them allows: of the others, "
                                           "no waits are recorded");
}

// 0: there is no room. `is_new`: the stack itself, whatever calls it is in.
std::uint32_t Recording::try_intern(const unwind::FrameBuffer& frames, WaitKey wait,
                                    std::span<const std::uint64_t> calls, bool& is_new) noexcept {
  const std::uint32_t id = stream_.stacks().intern(frames, wait, is_new);
  bool is_new_within = false;
  return id == 0 || calls.empty() ? id : stream_.stacks().intern_within(id, calls, is_new_within);
}

std::uint32_t Recording::intern(const unwind::FrameBuffer& frames, WaitKey wait,
                                const unwind::OpenCalls& calls, const labels::LabelSet* labels,
                                bool& is_new, const ModuleMap& modules,
                                ThreadList& threads) noexcept {
  ++counters_.stacks_walked;
  if ((frames.flags & wire::kStackRootReached) != 0) ++counters_.stacks_rooted;
  if ((frames.flags & wire::kStackCut) != 0) ++counters_.stacks_cut;
  std::array<std::uint64_t, ProbeStream::kMostCallWords> room;
  const auto within = probes_.calls_of(calls, room);
  const bool has_room = stream_.labels().intern(labels, wait.labels);
  const std::uint32_t id = has_room ? try_intern(frames, wait, within, is_new) : 0;
  if (id != 0) return id;
  sync_modules(modules, threads);
  start_stack_generation(threads);
  // Without memory for a single set the stack has none.
  if (!stream_.labels().intern(labels, wait.labels)) ++counters_.labels_lost;
  return try_intern(frames, wait, within, is_new);
}

void Recording::start_stack_generation(ThreadList& threads) noexcept {
  accounts_.end_settled_runs();
  write_staged(threads);
  stream_.stacks().start_generation();
  stream_.labels().start_generation();
  ++counters_.stack_generations;
}

void Recording::sync_modules(const ModuleMap& modules, ThreadList& threads) noexcept {
  code_.sync(modules.jit_interface(), stream_);
  if (modules_.is_synced(modules)) return;
  const bool written = modules_.write_new(modules, stream_);
  if (written && modules_.take_gone(modules)) start_stack_generation(threads);
  if (written) accounts_.reopen_broken_stacks();
  modules_.end_sync(written, modules, stream_);
}

}  // namespace swipr::agent
