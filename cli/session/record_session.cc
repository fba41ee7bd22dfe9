#include "cli/session/record_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cli/session/connection.h"
#include "common/host/proc.h"

namespace swipr::session {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kProgressInterval(200);
// An agent that was asked to end and is neither done nor dead by then is not waited for.
constexpr std::chrono::seconds kEndPatience(5);
// Images that run at the same time. Later ones wait in the constructor for their turn, and run on
// unrecorded when it does not come.
constexpr std::size_t kMaxOpenStreams = 800;  // below a soft limit of 1,024 descriptors
constexpr std::size_t kMaxErrors = 8;

std::uint64_t expected_ticks(const StreamSummary& stream) {
  namespace counter = wire::counter;
  if (stream.ticks_asked != 0) return stream.ticks_asked;
  return stream.total(counter::kTicks, stream.ticks) + stream.total(counter::kTicksMissed, 0);
}

}  // namespace

void SessionTotals::add(const StreamSummary& stream) {
  namespace counter = wire::counter;
  processes += 1;
  ticks_asked += expected_ticks(stream);
  ticks += stream.total(counter::kTicks, stream.ticks);
  ticks_missed += stream.total(counter::kTicksMissed, 0);
  ticks_stretched += stream.total(counter::kTicksStretched, 0);
  samples += stream.total(counter::kSamples, stream.samples);
  dropped += stream.total(counter::kSamplesDropped, 0);
  threads += stream.total(counter::kThreads, stream.threads);
  stacks_walked += stream.total(counter::kStacksWalked, 0);
  stacks_rooted += stream.total(counter::kStacksRooted, 0);
}

RecordSession::RecordSession(RecordingFile& file, SignalWatch& signals, StreamRequest request)
    : file_(file),
      signals_(signals),
      request_(request),
      start_(Clock::now()),
      next_progress_(start_) {}

RecordSession::~RecordSession() = default;

void RecordSession::add(host::UniqueFd connection, std::string label) {
  start_stream(std::move(connection), std::move(label), request_);
}

void RecordSession::set_child(Pid child, Rendezvous& rendezvous, bool follow) {
  child_ = child;
  rendezvous_ = &rendezvous;
  follow_ = follow;
}

void RecordSession::set_progress(std::function<void(const SessionProgress&)> callback) {
  progress_ = std::move(callback);
}

void RecordSession::start_stream(host::UniqueFd connection, std::string label,
                                 const StreamRequest& request) {
  open_.push_back(std::make_unique<RecordStream>(std::move(connection), std::move(label), file_));
  open_.back()->start(request);
}

SessionResult RecordSession::run() {
  while (!is_finished()) {
    wait_for_events();
    check_file();
    sweep_closed();
    report_progress();
    if (end_deadline_ && (Clock::now() >= *end_deadline_ || result_.abandoned)) {
      for (auto& stream : open_) stream->break_off();
      sweep_closed();
    }
  }
  result_.totals = closed_;
  return std::move(result_);
}

bool RecordSession::is_finished() const { return open_.empty() && !child_; }

void RecordSession::wait_for_events() {
  std::vector<pollfd> events;
  events.push_back({signals_.fd(), POLLIN, 0});
  const bool accepts =
      rendezvous_ != nullptr && rendezvous_->fd() >= 0 && open_.size() < kMaxOpenStreams;
  events.push_back({accepts ? rendezvous_->fd() : -1, POLLIN, 0});
  for (const auto& stream : open_) events.push_back({stream->fd(), POLLIN, 0});
  const std::size_t streams = open_.size();
  if (::poll(events.data(), events.size(), static_cast<int>(poll_timeout().count())) <= 0) return;
  // Streams first: what a process sent before it ended is read before its end is handled.
  for (std::size_t i = 0; i < streams; ++i) {
    if (events[i + 2].revents != 0) open_[i]->on_readable();
  }
  if (events[1].revents != 0) accept_image();
  if (events[0].revents != 0) {
    while (const auto signal = signals_.try_take()) on_signal(*signal);
  }
}

milliseconds RecordSession::poll_timeout() const {
  auto wake = Clock::time_point::max();
  if (progress_) wake = std::min(wake, next_progress_);
  if (end_deadline_ && !open_.empty()) wake = std::min(wake, *end_deadline_);
  if (wake == Clock::time_point::max()) return milliseconds(-1);
  return std::max(std::chrono::ceil<milliseconds>(wake - Clock::now()), milliseconds(0));
}

void RecordSession::on_signal(const CaughtSignal& signal) {
  if (signal.number == SIGCHLD) {
    reap_child();
  } else if (child_) {
    on_child_signal(signal);
  } else if (end_deadline_) {
    result_.abandoned = true;
  } else {
    result_.interrupted = true;
    request_end();
  }
}

// With a command the signal is the command's: the recording goes on until it has ended, in whatever
// way it answers. What is typed at the terminal has reached it already.
void RecordSession::on_child_signal(const CaughtSignal& signal) {
  if (!signal.from_kernel) ::kill(child_->value, signal.number);
}

void RecordSession::reap_child() {
  if (!child_) return;
  int status = 0;
  if (::waitpid(child_->value, &status, WNOHANG) != child_->value) return;
  result_.child_status = status;
  child_.reset();
  // Background processes of the command run on; their recording ends here.
  rendezvous_->stop_listening();
  request_end();
}

void RecordSession::accept_image() {
  host::UniqueFd connection = rendezvous_->try_accept();
  if (!connection) return;
  const auto peer = read_peer(connection.value());
  if (!peer || (peer->uid != ::geteuid() && peer->uid != 0 && ::geteuid() != 0)) return;
  if (!follow_ && child_ && peer->pid != *child_) return;
  const auto request = remaining_request();
  if (!request || end_deadline_) return;  // closing tells it to run on
  const auto status = host::read_process_status(peer->pid);
  start_stream(std::move(connection),
               fmt::format("process {} ({})", peer->pid.value, status ? status->name : "gone"),
               *request);
}

// What is left of a count or duration for an image that starts now; nullopt: nothing.
std::optional<StreamRequest> RecordSession::remaining_request() const {
  StreamRequest rest = request_;
  const bool is_first = open_.empty() && closed_.processes == 0;
  if (is_first) return rest;
  const auto elapsed = std::chrono::duration_cast<nanoseconds>(Clock::now() - start_);
  if (request_.duration.count() != 0) {
    rest.duration -= elapsed;
    if (rest.duration <= nanoseconds(0)) return std::nullopt;
  }
  if (request_.ticks != 0) {
    const auto passed = static_cast<std::uint64_t>(elapsed / request_.interval);
    if (passed >= request_.ticks) return std::nullopt;
    rest.ticks -= passed;
  }
  return rest;
}

void RecordSession::request_end() {
  if (end_deadline_) return;
  end_deadline_ = Clock::now() + kEndPatience;
  for (auto& stream : open_) stream->request_end();
}

void RecordSession::check_file() {
  if (!file_.failed() || result_.file_error) return;
  result_.file_error = file_.error();
  for (auto& stream : open_) stream->break_off();
  end_deadline_ = Clock::now();
}

void RecordSession::sweep_closed() {
  for (const auto& stream : open_) {
    if (stream->is_open()) continue;
    if (stream->has_data()) {
      if (!has_first_) result_.first = stream->summary();
      has_first_ = true;
      closed_.add(stream->summary());
    }
    // Images that are gone before the recording began are normal below a command.
    const bool expected = rendezvous_ != nullptr && stream->vanished();
    if (stream->error() && !expected && result_.errors.size() < kMaxErrors) {
      result_.errors.push_back(stream->error()->message());
    }
  }
  std::erase_if(open_, [](const auto& stream) { return !stream->is_open(); });
}

void RecordSession::report_progress() {
  const auto now = Clock::now();
  if (!progress_ || now < next_progress_) return;
  next_progress_ = now + kProgressInterval;
  SessionProgress progress;
  progress.elapsed = std::chrono::duration_cast<nanoseconds>(now - start_);
  progress.totals = closed_;
  for (const auto& stream : open_) {
    if (stream->has_data()) progress.totals.add(stream->summary());
  }
  const double planned =
      request_.duration.count() != 0
          ? static_cast<double>(request_.duration.count())
          : static_cast<double>(request_.interval.count()) * static_cast<double>(request_.ticks);
  if (planned > 0) {
    progress.done = std::min(1.0, static_cast<double>(progress.elapsed.count()) / planned);
  }
  progress_(progress);
}

}  // namespace swipr::session
