
#include "preload/agent/serve/server.h"

#include <fcntl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "preload/agent/base/clock.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/log.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/guest/thread_count.h"
#include "preload/agent/serve/routes.h"

namespace swipr::agent {

namespace {

using namespace std::chrono_literals;

// Between fork and exec there is nothing to record, so no socket is created.
constexpr Moment kForkDelay = 10ms;
constexpr Moment kExitDrain = 150ms;  // the exiting thread waits 200 ms in total
constexpr Moment kExitDrainStep = 5ms;
constexpr const char* kParkedText =
    "the program makes a system call that requires swipr's thread to end";
constexpr Moment kReapInterval = 20ms;  // while a helper outlives the thread that started it
constexpr Moment kAcceptRetry = 1s;     // if no descriptor is left for a client

// The answer if there are too many clients. Best effort: the client may not read it.
void turn_away(int fd, std::string_view reason) noexcept {
  log_line(LogLevel::kWarning, "client refused", reason);
  FixedText<256> answer;
  answer.append("HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\ncontent-length: ");
  answer.append_number(reason.size() + 1).append("\r\nconnection: close\r\n\r\n");
  answer.append(reason).append('\n');
  ::send(fd, answer.c_str(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::close(fd);
}

// Relative to now, with a nanosecond's resolution; poll() itself has milliseconds.
timespec time_left(Moment deadline) noexcept {
  return to_timespec(std::max(deadline - monotonic_now(), Moment::zero()));
}

void sleep_until(Moment deadline) noexcept {
  const timespec timeout = time_left(deadline);
  poll_descriptors(nullptr, 0, deadline == kNever ? nullptr : &timeout);
}

// poll() for a program whose RLIMIT_NOFILE is below the few descriptors of this thread.
void select_until(pollfd* polls, std::size_t count, Moment deadline) noexcept {
  fd_set readable;
  fd_set writable;
  FD_ZERO(&readable);
  FD_ZERO(&writable);
  int end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (polls[i].fd >= FD_SETSIZE) continue;
    if ((polls[i].events & POLLIN) != 0) FD_SET(polls[i].fd, &readable);
    if ((polls[i].events & POLLOUT) != 0) FD_SET(polls[i].fd, &writable);
    end = std::max(end, polls[i].fd + 1);
  }
  const timespec timeout = time_left(deadline);
  const long ready =
      select_descriptors(end, &readable, &writable, deadline == kNever ? nullptr : &timeout);
  for (std::size_t i = 0; ready > 0 && i < count; ++i) {
    if (polls[i].fd >= FD_SETSIZE) continue;
    if (FD_ISSET(polls[i].fd, &readable)) polls[i].revents |= POLLIN;
    if (FD_ISSET(polls[i].fd, &writable)) polls[i].revents |= POLLOUT;
  }
}

void poll_until(pollfd* polls, std::size_t count, Moment deadline) noexcept {
  const timespec timeout = time_left(deadline);
  const long ready = poll_descriptors(polls, count, deadline == kNever ? nullptr : &timeout);
  if (ready >= 0) return;
  for (std::size_t i = 0; i < count; ++i) polls[i].revents = 0;
  if (ready != -EINTR) select_until(polls, count, deadline);
}

bool is_gone(const Listener& listener) noexcept {
  if (listener.fd < 0) return true;
  struct stat status {};
  return !listener.is_tcp && libc::lstat(listener.path.c_str(), &status) != 0 && errno == ENOENT;
}

void forget_place(Listener& listener) noexcept {
  listener.fd = -1;
  listener.is_tcp = false;
  listener.path.clear();
  listener.url.clear();
}

void close_place(Listener& listener) noexcept {
  if (listener.fd >= 0) ::close(listener.fd);
  forget_place(listener);
}

}  // namespace

void Server::run(const Settings& settings, pid_t pid, bool forked) noexcept {
  settings_ = &settings;
  set_route_context({&settings, &default_listener_, &file_recording_});
  if (!forked) file_recording_.start(settings, pid);
  meet(settings);
  // A worker process of root is about to drop its privileges, including access to the socket
  // directory.
  const bool may_wait = ::geteuid() != 0;
  if (forked && meeting_ == nullptr && may_wait) sleep_until(monotonic_now() + kForkDelay);
  if (forked) file_recording_.start(settings, pid);
  if (socket_files::begin()) {
    open_places(settings, pid);
    socket_files::end();
  }
  reap_left_helpers(monotonic_now());
  while (!exit_gate::is_asked()) {
    wait();
    step(monotonic_now());
    if (park_gate::begin()) return park();
    if (is_last_thread(monotonic_now())) return finish();
  }
  finish();
  // The process is about to end, and this thread with it.
  for (;;) sleep_until(kNever);
}

// Opens those that are not open, or whose file was removed.
void Server::open_places(const Settings& settings, pid_t pid) noexcept {
  if (!settings.server_url.empty() && is_gone(url_listener_)) {
    close_place(url_listener_);
    if (open_url_listener(settings, pid, url_listener_)) {
      log_line(LogLevel::kInfo, "listening",
               url_listener_.is_tcp ? url_listener_.url.view() : url_listener_.path.view());
    }
  }
  // Also with a URL: `swipr record` and `swipr list` search there.
  if (is_gone(default_listener_)) {
    close_place(default_listener_);
    if (open_default_listener(settings, pid, default_listener_)) {
      log_line(LogLevel::kInfo, "listening", default_listener_.path.view());
    }
  }
  for (const Listener* listener : {&url_listener_, &default_listener_}) {
    if (listener->fd >= 0 && !listener->is_tcp) socket_files::add(listener->path.view());
  }
}

void Server::restore_places() noexcept {
  const bool any_gone =
      is_gone(default_listener_) || (!settings_->server_url.empty() && is_gone(url_listener_));
  if (!any_gone || !socket_files::begin_again()) return;
  open_places(*settings_, ::getpid());
  socket_files::end();
}

// Connects to a waiting `swipr record`. After any failure the program continues at once.
void Server::meet(const Settings& settings) noexcept {
  if (settings.rendezvous.empty()) return start_gate::open();
  const int fd = connect_unix(settings.rendezvous);
  if (fd < 0) {
    log_line(LogLevel::kError, "cannot connect", settings.rendezvous, errno);
  } else if (!is_trusted_peer(fd)) {
    log_line(LogLevel::kError,
             "connection to swipr record refused: its socket is owned by another user",
             settings.rendezvous);
    ::close(fd);
  } else {
    ::fcntl(fd, F_SETFL, 0);  // a helper writes to it and expects to block
    if (add(fd, nullptr, meeting_) == nullptr) return;
    ::close(fd);
  }
  start_gate::open();
}

// A free one, or that of the client that has been sending its request for the longest time: clients
// that connect and send nothing must not exclude others. nullptr: all are being answered.
Connection** Server::find_slot() noexcept {
  Connection** oldest = nullptr;
  for (Connection*& slot : connections_) {
    if (slot == nullptr) return &slot;
    if (slot == meeting_ || slot->request_due_at() == kNever) continue;
    if (oldest == nullptr || slot->request_due_at() < (*oldest)->request_due_at()) oldest = &slot;
  }
  if (oldest == nullptr) return nullptr;
  (*oldest)->make_room();
  Connection::destroy(*oldest);
  return oldest;
}

const char* Server::add(int fd, const Listener* listener, Connection*& out) noexcept {
  Connection** const slot = find_slot();
  if (slot == nullptr) return "there are 32 clients already";
  *slot = Connection::create(fd, listener, route_request, monotonic_now());
  out = *slot;
  return out != nullptr ? nullptr : "there is no memory for a client";
}

void Server::wait() noexcept {
  const bool can_accept = monotonic_now() >= accept_again_at_;
  polls_[0] = {can_accept ? default_listener_.fd : -1, POLLIN, 0};
  polls_[1] = {can_accept ? url_listener_.fd : -1, POLLIN, 0};
  polls_[kListenerCount] = {control_presence::poll_fd(), POLLIN, 0};
  std::size_t count = kFirstConnectionPoll;
  for (const Connection* connection : connections_) {
    if (connection != nullptr) {
      connection->fill_polls(&polls_[count]);
    } else {
      std::fill_n(&polls_[count], Connection::kPollCount, pollfd{-1, 0, 0});
    }
    count += Connection::kPollCount;
  }
  // The kernel refuses more entries than RLIMIT_NOFILE, and counts the empty ones.
  pollfd open[kPollCount];
  std::size_t open_count = 0;
  for (const pollfd& entry : polls_) {
    if (entry.fd >= 0) open[open_count++] = entry;
  }
  poll_until(open, open_count, next_wake());
  open_count = 0;
  for (pollfd& entry : polls_) {
    entry.revents = 0;
    if (entry.fd >= 0) entry.revents = open[open_count++].revents;
  }
}

Moment Server::next_wake() const noexcept {
  Moment wake = std::min(recorder().next_deadline(), exit_gate::look_again_at(monotonic_now()));
  wake = std::min(wake, reap_at_);
  wake = std::min(wake, watch_at_);
  if (monotonic_now() < accept_again_at_) wake = std::min(wake, accept_again_at_);
  for (const Connection* connection : connections_) {
    if (connection != nullptr) wake = std::min(wake, connection->wake_at());
  }
  return wake;
}

void Server::step(Moment now) noexcept {
  recorder().run_due(now);  // first, because ticks must be on time
  const bool asked = polls_[kListenerCount].revents != 0 && control_presence::on_readable();
  if (socket_files::take_wish() || asked) restore_places();
  if (flush_gate::is_asked()) flush(now);
  if (now >= reap_at_) reap_left_helpers(now);
  follow_gate::follow();
  file_recording_.write_out();
  bool recording = file_recording_.is_running();
  for (std::size_t i = 0; i < kMaxConnections; ++i) {
    Connection*& connection = connections_[i];
    if (connection == nullptr) continue;
    const pollfd* polls = &polls_[kFirstConnectionPoll + i * Connection::kPollCount];
    connection->step(now, polls[0].revents, polls[1].revents);
    recording = recording || connection->is_recording() || connection->has_unsent();
    if (connection == meeting_) report_meeting();
    if (!connection->is_closed()) continue;
    Connection::destroy(connection);
  }
  exit_gate::update(recording);
  // Last: their first poll entries are filled in the next round.
  if (polls_[0].revents != 0) accept_from(default_listener_);
  if (polls_[1].revents != 0) accept_from(url_listener_);
}

void Server::flush(Moment now) noexcept {
  recorder().flush(now);
  file_recording_.write_out();
  for (Connection* connection : connections_) {
    if (connection != nullptr) connection->flush(now);
  }
  flush_gate::report_done();
}

void Server::report_meeting() noexcept {
  if (!meeting_->has_recorded() && !meeting_->is_closed()) return;
  meeting_ = nullptr;
  start_gate::open();
}

void Server::accept_from(const Listener& listener) noexcept {
  // Not SOCK_NONBLOCK: the file description is shared with a helper, which expects to block.
  const int fd = ::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) {
    // The client stays in the queue, and the queue stays readable.
    if (errno != EMFILE && errno != ENFILE) return;
    log_line(LogLevel::kWarning, "a client must wait: the limit of open files is reached", {},
             errno);
    accept_again_at_ = monotonic_now() + kAcceptRetry;
    return;
  }
  if (!listener.is_tcp && !is_trusted_peer(fd)) {
    log_line(LogLevel::kWarning, "client refused: it belongs to another user",
             listener.path.view());
    ::close(fd);
    return;
  }
  Connection* added = nullptr;
  if (const char* const refusal = add(fd, &listener, added)) turn_away(fd, refusal);
}

void Server::end_recordings(wire::EndReason reason, const char* text) noexcept {
  file_recording_.finish(reason, text);
  const Moment deadline = monotonic_now() + kExitDrain;
  bool unsent = true;
  while (unsent && monotonic_now() < deadline) {
    unsent = false;
    for (Connection* connection : connections_) {
      if (connection == nullptr) continue;
      connection->end_for_good(monotonic_now(), reason, text);
      unsent = unsent || connection->has_unsent();
    }
    if (unsent) sleep_until(monotonic_now() + kExitDrainStep);
  }
}

void Server::close_listeners() noexcept {
  if (default_listener_.fd >= 0) ::close(default_listener_.fd);
  if (url_listener_.fd >= 0) ::close(url_listener_.fd);
}

bool Server::is_last_thread(Moment now) noexcept {
  if (now < watch_at_) return false;
  const Moment interval = thread_count::watch_interval();
  watch_at_ = interval == kNever ? kNever : now + interval;
  return thread_count::is_last();
}

void Server::finish() noexcept {
  close_listeners();
  end_recordings(wire::EndReason::kProcessExit, "");
  log_line(LogLevel::kDebug, "the process exits");
  exit_gate::report_finished();
  start_gate::open();
}

// Open descriptors are closed with this thread and its descriptor table.
void Server::park() noexcept {
  log_line(LogLevel::kInfo,
           "swipr's thread ends because the program makes a call that requires it (unshare, setns, "
           "seccomp, fork with ThreadSanitizer)");
  end_recordings(wire::EndReason::kStopped, kParkedText);
  for (Connection*& connection : connections_) {
    if (connection == nullptr) continue;
    leave_helper(connection->take_helper());
    Connection::destroy(connection);
  }
  exit_gate::update(false);
  close_listeners();
}

// The helper writes its answer to the end, and is reaped by the next control thread.
void Server::leave_helper(HelperProcess helper) noexcept {
  if (helper.pid < 0) return;
  if (helper.input >= 0) ::close(helper.input);
  helper.input = -1;
  for (HelperProcess& left : left_helpers_) {
    if (left.pid >= 0) continue;
    left = helper;
    break;
  }
  left_in_ = ::getpid();
}

void Server::reap_left_helpers(Moment now) noexcept {
  bool any = false;
  for (HelperProcess& left : left_helpers_) {
    if (left.pid >= 0 && try_reap_helper(left) == HelperState::kRunning) any = true;
  }
  reap_at_ = any ? now + kReapInterval : kNever;
}

// They are the parent's.
void Server::forget_left_helpers() noexcept {
  for (HelperProcess& left : left_helpers_) {
    release_helper_memory(left);
    left = {};
  }
}

void Server::reset_after_fork() noexcept {
  if (left_in_ != ::getpid()) forget_left_helpers();
  for (Connection*& connection : connections_) {
    if (connection != nullptr) Connection::forget(connection);
    connection = nullptr;
  }
  meeting_ = nullptr;
  file_recording_.reset_after_fork();
  forget_place(default_listener_);
  forget_place(url_listener_);
}

}  // namespace swipr::agent
