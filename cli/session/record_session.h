// A whole recording: one or more streams into one file, until they end, are stopped, or fail.
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
  double done = -1;  // 0…1 of the way; below 0: there is no known end
  SessionTotals totals;
};

struct SessionResult {
  SessionTotals totals;
  SeenModules modules;              // of all processes
  StreamSummary first;              // of the first process that sent something
  std::vector<std::string> errors;  // one line per stream that failed
  std::optional<host::Error> file_error;
  bool interrupted = false;            // by SIGINT or SIGTERM
  bool abandoned = false;              // a second one came before everything was read
  std::optional<int> child_status;     // as waitpid has it
  std::vector<Follower> followers;     // run on, unrecorded, after the child's end
  std::vector<Unrecorded> unrecorded;  // processes of the command that nothing is known of
  // All that the command and its children used, for recordings of the whole of it.
  std::optional<std::chrono::nanoseconds> command_cpu;
};

class RecordSession {
 public:
  // Lifetime: all of them outlive the session.
  RecordSession(RecordingFile& file, SignalWatch& signals, StreamRequest request);
  ~RecordSession();

  // A process that runs already.
  void add(host::UniqueFd connection, std::string label);
  // A started one: every image that connects to `rendezvous` is recorded (`follow`), or only those
  // of the process itself. The session then lasts until `child` ends, and reaps it; with a count or
  // duration it goes on as long as that lasts and followed processes live.
  void set_child(Pid child, Rendezvous& rendezvous, bool follow);
  // Called about five times a second. Its cost is the recording's.
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
  SessionTotals closed_;  // sums over the streams that are gone
  SessionResult result_;
  bool has_first_ = false;
  bool follow_ = true;
  Rendezvous* rendezvous_ = nullptr;
  std::optional<Pid> child_;  // empty: none, or reaped
  std::function<void(const SessionProgress&)> progress_;
  Clock::time_point start_;
  Clock::time_point next_progress_;
  std::optional<nanoseconds> planned_;  // what count and duration come to; empty: no limit
  std::optional<Clock::time_point> end_deadline_;  // set by request_end
  bool child_outlived_ = false;                    // the recording goes on without it
  std::optional<Descendants> descendants_;         // of the child, if they are followed
  Clock::time_point accept_again_{};               // no descriptor was free before
  bool told_no_descriptor_ = false;
};

}  // namespace swipr::session
