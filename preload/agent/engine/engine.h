// Implementation of the recorder: all recordings and their shared data.
// Context: control thread.
#pragma once

#include <array>

#include "preload/agent/engine/recorder.h"
#include "preload/agent/record/recording.h"
#include "preload/agent/sample/sampler.h"

namespace swipr::agent {

class Engine {
 public:
  constexpr Engine() noexcept : sampler_(process_) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void open_before_privileges_go() noexcept;
  Recording* start(const RecordingRequest& request, OutputQueue& output,
                   const char** error) noexcept;
  void finish(Recording* recording, wire::EndReason reason, const char* text) noexcept;
  Moment next_deadline() const noexcept;
  void run_due(Moment now) noexcept;
  void flush(Moment now) noexcept;
  RecorderCounters counters() const noexcept;
  void set_signal_number(int number) noexcept { signal_number_ = number; }
  void forgo_signal_free_looks() noexcept { process_.signal_free = false; }
  bool looks_signal_free() const noexcept { return process_.signal_free; }
  void forgo_runtimes() noexcept { process_.modules.forgo_runtimes(); }
  bool reads_runtimes() const noexcept { return process_.modules.reads_runtimes(); }
  std::span<const FoundRuntime> find_runtimes(RuntimeRegistry& survey) noexcept;
  void choose_unwinder(UnwinderChoice choice) noexcept { process_.unwinder.choose(choice); }
  UnwinderChoice unwinder_choice() const noexcept { return process_.unwinder.choice(); }
  int signal_number() const noexcept { return signal_number_; }

 private:
  // dlclose is detected this late at most; dlopen as soon as a walk reaches the new code.
  static constexpr std::chrono::milliseconds kModulesInterval{500};

  bool has_room_for_another(const char** error) noexcept;
  bool open(const char** error) noexcept;
  void open_signals() noexcept;
  void close() noexcept;
  bool begin(Recording& recording, const RecordingRequest& request,
             std::chrono::nanoseconds agent_cpu_before, const char** error) noexcept;
  void attach_probes(Recording& recording, const RecordingRequest& request) noexcept;
  const char* prepare_slow_calls(const Recording& recording,
                                 const RecordingRequest& request) noexcept;
  void write_slow_calls(Recording& recording) noexcept;
  void write_call_ends() noexcept;
  void choose_whether_calls_are_followed() noexcept;
  void look_after_probes(Moment now) noexcept;
  Moment probes_due() const noexcept;
  void warn(Recording& recording) noexcept;
  void tell_unwinder(Recording& recording) noexcept;
  bool any_recording() const noexcept;
  void tick(unsigned number, Moment now) noexcept;
  void close_accounts(Recording& recording) noexcept;
  void sample_all(unsigned number, Moment now) noexcept;
  void refresh_threads() noexcept;
  bool may_list(Moment now) const noexcept { return now >= may_list_from_; }
  void look_after_process(Moment now) noexcept;
  int choose_signal() const noexcept;
  void consider_other_signal(Moment now) noexcept;
  bool program_uses_signal() const noexcept;
  bool another_is_blocked_less() noexcept;
  bool take_other_signal() noexcept;
  bool fewer_threads_block(int number) noexcept;
  void refresh_modules(Moment now) noexcept;
  void refresh_modules_when_needed(Moment now) noexcept;
  void refresh_names(Moment now) noexcept;
  void end_where_memory_is_short(Moment now) noexcept;
  void collect() noexcept;
  void build_first_tables() noexcept;
  void add_up(const Recording& recording, RecorderCounters& sum) const noexcept;

  SampledProcess process_;
  Sampler sampler_;
  std::array<Recording*, kMaxRecordings> recordings_{};
  int signal_number_ = 0;  // 0: SIGURG
  bool modules_known_ = false;
  bool keeps_memory_ = false;  // opened at the process's start and never closed
  Moment name_due_{0};
  Moment names_begun_{0};  // when the current round of name_cursor_ began
  Moment listing_due_{0};
  Moment may_list_from_{0};
  std::chrono::nanoseconds listing_cost_{0};
  Moment modules_due_{0};
  Moment registered_due_{0};  // registrations since then: not before this
  Moment other_signal_due_{0};
  Moment room_due_{0};
  std::uint32_t name_cursor_ = 0;
  ProcessIdentity identity_;
  RecorderCounters ended_;  // sums of finished recordings
};

}  // namespace swipr::agent
