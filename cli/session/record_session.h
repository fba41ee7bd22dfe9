// A recording session: one or more streams into one file, until they end, are stopped or fail.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/session/launch/descendants.h"
#include "cli/session/launch/followers.h"
#include "cli/session/launch/launch.h"
#include "cli/session/launch/signal_watch.h"
#include "cli/session/session_totals.h"
#include "cli/session/stream/record_stream.h"
#include "cli/session/stream/recording_file.h"
#include "common/core/ids.h"
#include "common/host/result.h"

namespace swipr::session {

struct SessionProgress {
  std::chrono::nanoseconds elapsed{0};
  double done = -1;  // 0…1; below 0: no known end
  SessionTotals totals;
};

struct SessionResult {
  SessionTotals totals;
  SeenModules modules;              // of all processes
  StreamSummary first;              // of the first process that sent data
  std::vector<std::string> errors;  // one line per stream that failed
  std::optional<host::Error> file_error;
  bool interrupted = false;            // by SIGINT or SIGTERM
  bool abandoned = false;              // a second one came before everything was read
  std::optional<int> child_status;     // as waitpid has it
  std::vector<Follower> followers;     // still running, unrecorded, after the child's end
  std::vector<Unrecorded> unrecorded;  // processes of the command without a recording
  // CPU time of the command and its children, if all of it was to be recorded.
  std::optional<std::chrono::nanoseconds> command_cpu;
};

class RecordSession {
 public:
  // Lifetime: the arguments outlive the session.
  RecordSession(RecordingFile& file, SignalWatch& signals, StreamRequest request);
  ~RecordSession();

  // Adds a running process.
  void add(host::UniqueFd connection, std::string label);
  // Sets the started process. All images that connect to `rendezvous` are recorded (`follow`),
  // or only those of the process itself. The session lasts until `child` ends, and reaps it.
  // With a count or duration it goes on until that limit while followed processes run.
  void set_child(Pid child, Rendezvous& rendezvous, bool follow);
  // Called about five times a second, on the thread of the session.
  void set_progress(std::function<void(const SessionProgress&)> callback);

  SessionResult run();

 private:
  using Clock = std::chrono::steady_clock;
  using nanoseconds = std::chrono::nanoseconds;

  bool is_finished() const;
  void wait_for_events();
  void on_signal(const CaughtSignal& signal);
  void on_child_signal(const CaughtSignal& signal);
  void reap_child();
  void accept_image();
  void pause_accepting(int error);
  bool accepts_images() const;
  bool traces_nothing() const;
  void look_for_descendants();
  void tell_unrecorded();
  std::optional<StreamRequest> remaining_request() const;
  void request_end();
  bool is_waiting_for_followers() const;
  void give_up_silent_streams();
  void break_off_streams();
  void check_file();
  void sweep_closed();
  void report_progress();
  std::chrono::milliseconds poll_timeout() const;
  void start_stream(host::UniqueFd connection, std::string label, const StreamRequest& request);

  RecordingFile& file_;
  SignalWatch& signals_;
  StreamRequest request_;
  std::vector<std::unique_ptr<RecordStream>> open_;
  SessionTotals closed_;  // sums over closed streams
  SessionResult result_;
  bool has_first_ = false;
  bool follow_ = true;
  Rendezvous* rendezvous_ = nullptr;
  std::optional<Pid> child_;  // empty: none, or reaped
  std::function<void(const SessionProgress&)> progress_;
  Clock::time_point start_;
  Clock::time_point next_progress_;
  std::optional<nanoseconds> planned_;             // from count and duration; empty: no limit
  std::optional<Clock::time_point> end_deadline_;  // set by request_end
  bool child_outlived_ = false;                    // the recording goes on after its end
  std::optional<Descendants> descendants_;         // empty: children are not followed
  Clock::time_point accept_again_{};  // time of the next accept, after a lack of descriptors
  bool told_no_descriptor_ = false;
};

}  // namespace swipr::session
