#include "preload/agent/engine/engine.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

#include "preload/agent/base/log.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/modules/registered/frame_registrations.h"
#include "preload/agent/probes/probe_table.h"
#include "preload/agent/proc/proc_directory.h"
#include "preload/agent/proc/thread_clock.h"
#include "preload/handler/asking.h"
#include "preload/handler/calls/interrupted_code.h"
#include "preload/handler/signal_handler.h"
#include "preload/handler/signals/disposition.h"

namespace swipr::agent {

namespace {

constexpr int kCloseAttempts = 1000;
constexpr const char* kTooLittleRoom =
    "the program's memory cgroup has too little memory left: a recording needs 4 MiB or more, and "
    "the kernel could kill the program";

constexpr std::size_t kRecordingBytes = round_to_pages(sizeof(Recording));

void read_identity(ProcessIdentity& identity) noexcept {
  std::string_view name =
      read_file_at(-1, "/proc/self/comm", std::span(identity.command_name).first(15));
  if (!name.empty() && name.back() == '\n') identity.command_name[name.size() - 1] = '\0';
  const std::string_view path = read_link_below_proc(
      "/proc/self/exe", std::span(identity.executable).first(sizeof(identity.executable) - 1));
  identity.executable[path.size()] = '\0';
}

// Of the main thread, which exists as long as the process.
bool has_scheduler_times(int task_directory) noexcept {
  char text[96];
  return parse_scheduler_times(read_task_file(task_directory, Tid{::getpid()}, "schedstat", text))
      .known;
}

// False: /proc belongs to another PID namespace, where the threads have other numbers.
bool has_own_numbers(int task_directory) noexcept {
  char text[16];
  return !read_task_file(task_directory, Tid{::getpid()}, "stat", text).empty();
}

void log_end(const RecordingCounters& counters, std::string_view reason) noexcept {
  FixedText<512> text;
  const auto put = [&text](std::string_view what, std::uint64_t count) {
    if (!text.empty()) text.append(", ");
    text.append_number(count).append(' ').append(what);
  };
  put("ticks", counters.ticks);
  put("samples", counters.samples);
  put("signals", counters.signals_sent);
  if (!reason.empty()) text.append("; ").append(reason);
  log_line(LogLevel::kInfo, "a recording ends", text.view());
  text.clear();
  if (counters.ticks_missed != 0) put("ticks that came too late", counters.ticks_missed);
  if (counters.samples_dropped != 0) put("samples (client or disk)", counters.samples_dropped);
  if (counters.stacks_missing != 0) put("stacks", counters.stacks_missing);
  if (!text.empty()) log_line(LogLevel::kWarning, "lost in this recording", text.view());
}

}  // namespace

bool Engine::any_recording() const noexcept {
  return std::any_of(recordings_.begin(), recordings_.end(),
                     [](const Recording* recording) { return recording != nullptr; });
}

// --- start and end

void Engine::open_before_privileges_go() noexcept {
  keeps_memory_ = process_.memory.open();
  char path[64];
  const int size = std::snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", ::getpid());
  if (size > 0) process_.main_thread_wait = open_below_proc(path, O_RDONLY);
}

bool Engine::has_room_for_another(const char** error) noexcept {
  if (!process_.modules.is_short_of_room() &&
      process_.room.has(room_to_begin(process_.threads.live_count()))) {
    return true;
  }
  *error = kTooLittleRoom;
  return false;
}

bool Engine::open(const char** error) noexcept {
  process_.room.open();
  process_.modules.open(&process_.room);
  if (!process_.room.has(kLeastRoom)) {
    *error = kTooLittleRoom;
    return false;
  }
  const Tid self{static_cast<std::int32_t>(::syscall(SYS_gettid))};
  if (!process_.threads.open(self)) {
    *error =
        errno == EMFILE
            ? "the process has reached its limit of open files: raise RLIMIT_NOFILE (ulimit -n)"
            : "/proc/self/task cannot be read, so threads cannot be found";
    return false;
  }
  process_.memory.open();
  process_.unwinder.open(process_.memory);  // loads one more library, before the modules are read
  process_.knows_runqueue = has_scheduler_times(process_.threads.directory());
  modules_known_ = process_.modules.refresh(process_.memory);
  read_identity(identity_);
  const Moment now = monotonic_now();
  name_due_ = names_begun_ = now;
  modules_due_ = now + kModulesInterval;
  other_signal_due_ = now;
  sampler_.forget_blocked_signal();
  return true;
}

// The handler is installed only while a recording needs it, because dispositions belong to the
// program.
void Engine::open_signals() noexcept {
  if (process_.can_signal || !process_.signals.open(Pid{::getpid()})) return;
  process_.can_signal = handler::install_handler(choose_signal());
  handler::set_asking(process_.can_signal);
  if (process_.can_signal) process_.timers.open();
  process_.loses_arguments = !handler::recognises_calls_of_libc();
}

void Engine::close() noexcept {
  const bool timer_pending = process_.timers.close(process_.threads);
  process_.signals.await_answers();
  const bool pending = process_.signals.close();
  handler::restore_handler(pending || timer_pending || probe_table().has_left_signals());
  handler::set_asking(false);
  process_.can_signal = false;
  // A running handler finishes within microseconds of CPU time; if it gets no CPU for that long,
  // the tables stay in memory until the next recording ends.
  for (int attempt = 0; attempt < kCloseAttempts && !process_.modules.try_close(); ++attempt) {
    ::sched_yield();
  }
  process_.forget_code();
  process_.unwinder.close();
  process_.languages.release();
  process_.files.close_all();
  if (!keeps_memory_) process_.memory.close();
  process_.threads.close();
  process_.room.close();
}

Recording* Engine::start(const RecordingRequest& request, OutputQueue& output,
                         const char** error) noexcept {
  const std::chrono::nanoseconds agent_cpu_before = read_own_clock();
  if (request.interval < kMinInterval || request.interval > kMaxInterval) {
    *error = "the interval is out of range";
    return nullptr;
  }
  const auto free = std::find(recordings_.begin(), recordings_.end(), nullptr);
  if (free == recordings_.end()) {
    *error = "too many recordings are in progress";
    return nullptr;
  }
  const bool is_first = !any_recording();
  if ((is_first && !open(error)) || !has_room_for_another(error)) {
    if (is_first) close();
    return nullptr;
  }
  if (request.mode != wire::RecordMode::kOffCpu) open_signals();
  void* memory = map_memory(kRecordingBytes);
  auto* recording = memory == nullptr ? nullptr : new (memory) Recording;
  if (recording == nullptr) *error = "no memory for another recording";
  const bool created =
      recording != nullptr && recording->create(request, output, monotonic_now(), error);
  if (created && begin(*recording, request, agent_cpu_before, error)) {
    *free = recording;
    choose_whether_calls_are_followed();
    ++ended_.recordings_started;
    FixedText<32> interval;
    interval.append_number(static_cast<std::uint64_t>(request.interval.count())).append(" ns");
    log_line(LogLevel::kInfo, "a recording begins, with a tick every", interval.view());
    return recording;
  }
  if (created) recording->release();
  if (memory != nullptr) unmap_memory(memory, kRecordingBytes);
  if (!any_recording()) close();
  return nullptr;
}

bool Engine::begin(Recording& recording, const RecordingRequest& request,
                   std::chrono::nanoseconds agent_cpu_before, const char** error) noexcept {
  if (!recording.write_beginning(identity_)) {
    *error = "the output buffer is too small for the header of the recording";
    return false;
  }
  if (!process_.knows_runqueue) recording.accounts().leave_runqueue_out();
  recording.stream().set_wait_channels(process_.wait_channels);
  recording.stream().set_functions(process_.languages.functions());
  recording.begin_modules(process_.modules);
  refresh_threads();
  if (another_is_blocked_less()) take_other_signal();
  for (std::uint32_t place = 0; recording.samples() && place < process_.threads.place_count();
       ++place) {
    if (process_.threads[place].tid.value != 0) sampler_.meet(recording, place);
  }
  if (recording.samples() && recording.mode() != wire::RecordMode::kCpu) build_first_tables();
  recording.start_accounts(monotonic_now(), agent_cpu_before);
  recording.accounts().introduce_all(process_.threads);
  warn(recording);
  tell_unwinder(recording);
  if (!request.probes.empty()) attach_probes(recording, request);
  recording.send_now(monotonic_now());
  return true;
}

// For the threads that the first tick checks in any case.
void Engine::build_first_tables() noexcept {
  std::uint32_t left = Sampler::kFreeLooks;
  for (std::uint32_t place = 0; place < process_.threads.place_count() && left != 0; ++place) {
    if (process_.threads[place].tid.value == 0) continue;
    sampler_.build_tables_for(place);
    --left;
  }
}

// Messages about limits of this process, for the reader of the profile.
void Engine::warn(Recording& recording) noexcept {
  StreamWriter& stream = recording.stream();
  constexpr auto kWarning = wire::MessageLevel::kWarning;
  const bool has_threads = has_own_numbers(process_.threads.directory());
  if (!has_threads) {
    stream.write_message(kWarning,
                         "/proc shows no thread of this process, as it belongs to another PID "
                         "namespace: there are no samples (unshare --pid needs --mount-proc)");
  }
  if (!modules_known_) {
    stream.write_message(kWarning, "/proc/self/maps cannot be read: addresses have no names");
  }
  if (!process_.memory.is_open()) {
    stream.write_message(kWarning,
                         "/proc/self/mem cannot be opened: stacks come from signals and frame "
                         "pointers only");
  }
  if (frame_registrations::left_out_count() != 0 || process_.modules.jit_interface().left_out()) {
    stream.write_message(kWarning,
                         "the program registered more call frame information at run time than "
                         "swipr can hold: stacks may end in generated code");
  }
  if (has_threads && !process_.knows_runqueue && recording.mode() != wire::RecordMode::kCpu) {
    stream.write_message(
        kWarning,
        "the kernel provides no /proc/PID/schedstat: time waiting for a CPU counts "
        "as blocked");
  }
  if (!process_.can_signal && recording.mode() != wire::RecordMode::kOffCpu) {
    stream.write_message(kWarning,
                         "the signal handler cannot be installed: running threads have no stacks");
  } else if (recording.mode() != wire::RecordMode::kOffCpu && !process_.timers.is_usable()) {
    stream.write_message(
        kWarning,
        "CPU timers are not available (they need Linux 5.10, on aarch64 6.1; a "
        "seccomp filter may forbid them): CPU time of threads that run in short bursts may be "
        "attributed to wrong functions");
  }
}

// Messages about the unwinder, if it is not swipr's tables alone.
void Engine::tell_unwinder(Recording& recording) noexcept {
  StreamWriter& stream = recording.stream();
  const SecondUnwinder& unwinder = process_.unwinder;
  if (!unwinder.failure().empty()) {
    recording.counters().unwinder_missing = true;
    stream.write_message(wire::MessageLevel::kWarning, unwinder.failure());
  } else if (unwinder.choice() == UnwinderChoice::kLibunwind) {
    stream.write_message(wire::MessageLevel::kNote,
                         "libunwind walked the stacks (SWIPR_UNWINDER), not swipr's tables");
  } else if (unwinder.choice() == UnwinderChoice::kCompare) {
    stream.set_differences(unwinder.differences());
    stream.write_message(wire::MessageLevel::kNote,
                         "each stack was walked by libunwind as well (SWIPR_UNWINDER)");
  }
}

void Engine::finish(Recording* recording, wire::EndReason reason, const char* text) noexcept {
  const auto found = std::find(recordings_.begin(), recordings_.end(), recording);
  if (recording == nullptr || found == recordings_.end()) return;
  collect();
  recording->stop_slow_calls();
  write_slow_calls(*recording);
  recording->finish_probes();
  if (!recording->is_complete()) close_accounts(*recording);
  write_call_ends();
  if (recording->failure() != nullptr) {
    reason = wire::EndReason::kFailed;
    text = recording->failure();
  }
  recording->write_end(reason, text == nullptr ? "" : text, process_.modules, process_.threads);
  log_end(recording->counters(), text == nullptr ? "" : text);
  process_.signals.forget_recording(static_cast<unsigned>(found - recordings_.begin()));
  add_up(*recording, ended_);
  *found = nullptr;
  recording->release();
  unmap_memory(recording, kRecordingBytes);
  choose_whether_calls_are_followed();
  if (!any_recording()) close();
}

// --- counters

void Engine::add_up(const Recording& recording, RecorderCounters& sum) const noexcept {
  sum.ticks += recording.counters().ticks;
  sum.samples += recording.counters().samples;
  sum.signals_sent += recording.counters().signals_sent;
}

std::span<const FoundRuntime> Engine::find_runtimes(RuntimeRegistry& survey) noexcept {
  if (!reads_runtimes() || !process_.memory.is_open()) return {};
  if (any_recording()) return process_.modules.runtimes().runtimes();
  survey.survey(process_.memory);
  return survey.runtimes();
}

RecorderCounters Engine::counters() const noexcept {
  RecorderCounters sum = ended_;
  for (const Recording* recording : recordings_) {
    if (recording == nullptr) continue;
    ++sum.recordings_active;
    add_up(*recording, sum);
  }
  sum.unwinder = process_.unwinder.choice();
  sum.unwinder_failure = process_.unwinder.failure();
  sum.signals_stray = handler::shared.strays.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace swipr::agent
