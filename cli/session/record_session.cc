#include "cli/session/record_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "cli/session/find/silence.h"
#include "cli/session/http/connection.h"
#include "common/host/proc.h"

namespace swipr::session {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kProgressInterval(200);
// Time limit for an answer of an agent, whose process may be stopped. Agents normally answer
// within one tick.
constexpr std::chrono::seconds kPatience(5);
constexpr milliseconds kFollowerInterval(100);
// Images recorded at the same time. Further ones wait in the constructor, and run unrecorded if
// that takes too long.
constexpr std::size_t kMaxOpenStreams = 800;  // below a soft limit of 1,024 descriptors
constexpr std::size_t kMaxErrors = 8;
// Pause after a failed accept. If no descriptor is free, poll would return at once for each
// waiting image.
constexpr milliseconds kAcceptPause(200);

std::optional<nanoseconds> planned_length(const StreamRequest& request) {
  auto planned = nanoseconds::max();
  if (request.duration.count() != 0) planned = request.duration;
  std::int64_t ticks_ns = 0;
  if (request.ticks != 0 &&
      !__builtin_mul_overflow(request.ticks, request.interval.count(), &ticks_ns)) {
    planned = std::min(planned, nanoseconds(ticks_ns));
  }
  // Durations above a year count as unlimited, so that sums with time points do not overflow.
  return planned < std::chrono::hours(24 * 366) ? std::optional(planned) : std::nullopt;
}

host::Error silence(const RecordStream& stream) {
  const auto peer = read_peer(stream.fd());
  const auto reason = peer ? find_reason_for_silence(peer->pid) : std::nullopt;
  return host::Error(reason ? "it " + *reason
                            : fmt::format("no answer for {} seconds", kPatience.count()));
}

}  // namespace

RecordSession::RecordSession(RecordingFile& file, SignalWatch& signals, StreamRequest request)
    : file_(file),
      signals_(signals),
      request_(std::move(request)),
      start_(Clock::now()),
      next_progress_(start_),
      planned_(planned_length(request_)) {}

RecordSession::~RecordSession() = default;

void RecordSession::add(host::UniqueFd connection, std::string label) {
  start_stream(std::move(connection), std::move(label), request_);
}

void RecordSession::set_child(Pid child, Rendezvous& rendezvous, bool follow) {
  child_ = child;
  rendezvous_ = &rendezvous;
  follow_ = follow;
  if (follow) descendants_.emplace(child, rendezvous.path());
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
    look_for_descendants();
    check_file();
    sweep_closed();
    report_progress();
    give_up_silent_streams();
  }
  result_.totals = closed_;
  tell_unrecorded();
  return std::move(result_);
}

bool RecordSession::is_finished() const {
  return open_.empty() && !child_ && !is_waiting_for_followers();
}

// Between two images of a process there is no stream.
bool RecordSession::is_waiting_for_followers() const {
  return child_outlived_ && !end_deadline_ && Clock::now() < start_ + *planned_ &&
         !find_followers(rendezvous_->path()).empty();
}

void RecordSession::give_up_silent_streams() {
  const auto now = Clock::now();
  if (end_deadline_ && (now >= *end_deadline_ || result_.abandoned)) return break_off_streams();
  // A command may stay stopped for any time; the session lasts until the command ends.
  if (rendezvous_ != nullptr || now < start_ + kPatience) return;
  // Agents stop by themselves; those that do not are asked to.
  if (planned_ && now >= start_ + *planned_ + kPatience) request_end();
  for (auto& stream : open_) {
    if (stream->is_unanswered()) stream->give_up(silence(*stream));
  }
  sweep_closed();
}

void RecordSession::break_off_streams() {
  for (auto& stream : open_) {
    if (result_.abandoned || result_.file_error) {
      stream->break_off();
    } else {
      stream->give_up(silence(*stream));
    }
  }
  sweep_closed();
}

void RecordSession::wait_for_events() {
  std::vector<pollfd> events;
  events.push_back({signals_.fd(), POLLIN, 0});
  events.push_back({accepts_images() ? rendezvous_->fd() : -1, POLLIN, 0});
  for (const auto& stream : open_) events.push_back({stream->fd(), POLLIN, 0});
  const std::size_t streams = open_.size();
  if (::poll(events.data(), events.size(), static_cast<int>(poll_timeout().count())) <= 0) return;
  // Streams first, so that all data of a process is read before its end is handled.
  for (std::size_t i = 0; i < streams; ++i) {
    if (events[i + 2].revents != 0) open_[i]->on_readable();
  }
  if (traces_nothing() && !end_deadline_) request_end();
  if (events[1].revents != 0) accept_image();
  if (events[0].revents != 0) {
    while (const auto signal = signals_.try_take()) on_signal(*signal);
  }
}

// All functions were refused, or were detached since.
bool RecordSession::traces_nothing() const {
  if (request_.probes.empty() || open_.empty()) return false;
  return std::all_of(open_.begin(), open_.end(), [](const auto& stream) {
    return stream->summary().ticks != 0 && stream->summary().traced.empty();
  });
}

bool RecordSession::accepts_images() const {
  return rendezvous_ != nullptr && rendezvous_->fd() >= 0 && open_.size() < kMaxOpenStreams &&
         Clock::now() >= accept_again_;
}

milliseconds RecordSession::poll_timeout() const {
  auto wake = progress_ ? next_progress_ : Clock::time_point::max();
  if (child_ && descendants_) wake = std::min(wake, descendants_->next_look());
  if (accept_again_ > Clock::now()) wake = std::min(wake, accept_again_);
  if (open_.empty()) {
    if (child_outlived_) wake = std::min(wake, Clock::now() + kFollowerInterval);
  } else if (end_deadline_) {
    wake = std::min(wake, *end_deadline_);
  } else if (rendezvous_ == nullptr) {
    const auto is_unanswered = [](const auto& stream) { return stream->is_unanswered(); };
    const bool waits = std::any_of(open_.begin(), open_.end(), is_unanswered);
    if (waits) wake = std::min(wake, start_ + kPatience);
    if (planned_) wake = std::min(wake, start_ + *planned_ + kPatience);
  }
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

// With a command, signals are passed to it, and the recording goes on until it ends. Signals
// from the terminal have reached it already.
void RecordSession::on_child_signal(const CaughtSignal& signal) {
  if (!signal.from_kernel) ::kill(child_->value, signal.number);
}

void RecordSession::reap_child() {
  if (!child_) return;
  int status = 0;
  rusage usage{};
  if (::wait4(child_->value, &status, WNOHANG, &usage) != child_->value) return;
  result_.child_status = status;
  if (follow_ && !planned_ && request_.mode != wire::RecordMode::kOffCpu)
    result_.command_cpu = cpu_of(usage);
  child_.reset();
  if (follow_ && planned_ && !end_deadline_) {
    child_outlived_ = true;
    return;
  }
  // Ends the recording of background processes of the command, which run on.
  if (follow_) result_.followers = find_followers(rendezvous_->path());
  rendezvous_->stop_listening();
  request_end();
}

void RecordSession::accept_image() {
  host::UniqueFd connection = rendezvous_->try_accept();
  if (!connection) return pause_accepting(errno);
  const auto peer = read_peer(connection.value());
  if (!peer || !is_recordable(*peer)) return;
  if (!follow_ && child_ && peer->pid != *child_) return;
  const auto request = remaining_request();
  if (!request || end_deadline_) return;  // closing the connection lets it run on
  if (descendants_) descendants_->on_connected(peer->pid);
  const auto status = host::read_process_status(peer->pid);
  start_stream(std::move(connection),
               fmt::format("process {} ({})", peer->pid.value, status ? status->name : "gone"),
               *request);
}

void RecordSession::pause_accepting(int error) {
  if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return;
  accept_again_ = Clock::now() + kAcceptPause;
  if (std::exchange(told_no_descriptor_, true)) return;
  result_.errors.push_back(
      host::system_error("processes had to wait for their recording", error).message() +
      "; raise the limit (ulimit -n)");
}

void RecordSession::look_for_descendants() {
  if (!child_ || !descendants_ || Clock::now() < descendants_->next_look()) return;
  std::set<Pid> connected;
  for (const auto& stream : open_) {
    if (const auto peer = read_peer(stream->fd())) connected.insert(peer->pid);
  }
  descendants_->look(connected);
}

// Reports to the caller, and in the recording as messages of its first process.
void RecordSession::tell_unrecorded() {
  if (!descendants_) return;
  for (Unrecorded& process : descendants_->unrecorded()) {
    result_.unrecorded.push_back(std::move(process));
  }
  if (file_.empty() || file_.failed()) return;
  for (const std::string& line : describe(result_.unrecorded)) {
    static_cast<void>(file_.write_message(0, line));
  }
  if (!result_.command_cpu) return;
  const std::string line = describe_missing_cpu(
      *result_.command_cpu, result_.totals.sampled_cpu + result_.totals.agent_cpu);
  if (!line.empty()) static_cast<void>(file_.write_message(0, line));
}

// Returns the rest of the count or duration for an image that starts now; nullopt: none is left.
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
  end_deadline_ = Clock::now() + kPatience;
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
      for (const auto& [build_id, module] : stream->summary().modules) {
        result_.modules.insert_or_assign(build_id, module);
      }
    }
    // With a command, images that end before their recording begins are normal.
    const bool expected = rendezvous_ != nullptr && stream->vanished();
    if (stream->error() && !expected && result_.errors.size() < kMaxErrors) {
      result_.errors.push_back(stream->error()->message());
    }
  }
  const auto closed = std::erase_if(open_, [](const auto& stream) { return !stream->is_open(); });
  if (closed != 0) accept_again_ = Clock::time_point();  // descriptors are free again
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
  if (planned_) {
    progress.done = std::min(1.0, static_cast<double>(progress.elapsed.count()) /
                                      static_cast<double>(planned_->count()));
  }
  progress_(progress);
}

}  // namespace swipr::session
