#include "preload/agent/connection.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "preload/agent/exit_gate.h"
#include "preload/agent/log.h"

namespace swipr::agent {

namespace {

using namespace std::chrono_literals;

constexpr Moment kRequestTimeout = 10s;
constexpr Moment kLingerTimeout = 2s;
constexpr Moment kStallTimeout = 60s;  // of a client that does not fetch the end of its recording
constexpr Moment kReapRetry = 1ms;     // a process closes its files just before it can be reaped
// A tick yields a few hundred bytes; sending each at once would cost more than taking the samples.
constexpr Moment kFlushDelay = 50ms;
constexpr std::size_t kFlushBytes = 65536;
constexpr std::size_t kMaxFrameBytes = 262144;
constexpr std::uint64_t kMaxFilePiece = 262144;
constexpr std::size_t kQueueBytes = std::size_t{4} << 20;
// Room for totals and end record, and for what the last ticks still have to say.
constexpr std::size_t kFinishBytes = std::size_t{1} << 20;

// Sends what lies behind the first `skip` bytes of the pieces.
ssize_t send_pieces(int fd, std::span<const std::string_view> pieces, std::size_t skip) noexcept {
  iovec vectors[3];
  std::size_t count = 0;
  for (std::string_view piece : pieces) {
    const std::size_t skipped = std::min(skip, piece.size());
    skip -= skipped;
    piece.remove_prefix(skipped);
    if (piece.empty()) continue;
    vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = vectors;
  message.msg_iovlen = count;
  return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool would_block() noexcept { return errno == EAGAIN || errno == EINTR; }

}  // namespace

Connection::Connection(int fd, const Listener* listener, RouteFunction route, Moment now) noexcept
    : fd_(fd), listener_(listener), route_(route), deadline_(now + kRequestTimeout) {}

Connection::~Connection() {
  end_recording(wire::EndReason::kStopped, "");
  close_client();
  if (file_ >= 0) ::close(file_);
}

Connection* Connection::create(int fd, const Listener* listener, RouteFunction route,
                               Moment now) noexcept {
  void* memory = ::mmap(nullptr, sizeof(Connection), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return new (memory) Connection(fd, listener, route, now);
}

void Connection::destroy(Connection* connection) noexcept {
  connection->~Connection();
  ::munmap(connection, sizeof(Connection));
}

void Connection::forget(Connection* connection) noexcept {
  connection->queue_.~OutputQueue();
  release_helper_memory(connection->helper_);
  ::munmap(connection, sizeof(Connection));
}

void Connection::fill_polls(pollfd* out) const noexcept {
  short client = 0;
  if (input_open_) client |= POLLIN;
  if (blocked_ && state_ != State::kHelped) client |= POLLOUT;
  short helper = 0;
  if (blocked_ && state_ == State::kHelped) helper |= POLLOUT;
  out[0] = {fd_, client, 0};
  out[1] = {reap_at_ == kNever ? helper_.input : -1, helper, 0};
}

Moment Connection::wake_at() const noexcept { return std::min({deadline_, flush_at_, reap_at_}); }

void Connection::step(Moment now, short client_events, short helper_events) noexcept {
  if (state_ == State::kHelped) step_helper(now, helper_events);
  const bool hung_up = (client_events & (POLLERR | POLLHUP)) != 0;
  if (state_ == State::kReading) {
    if (hung_up || (client_events & POLLIN) != 0) read_request(now);
  } else if (hung_up) {
    on_client_gone();
  } else if ((client_events & POLLIN) != 0) {
    discard_input();
  }
  if (state_ == State::kClosed) return;
  if (now >= deadline_) {
    if (state_ != State::kReading) return close();
    refuse({408, "the request did not arrive within 10 seconds"});
  }
  pump(now);
}

void Connection::read_request(Moment now) noexcept {
  char buffer[8192];
  const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0 && would_block()) return;
  if (got <= 0) return close();
  on_request_bytes({buffer, static_cast<std::size_t>(got)});
  if (state_ != State::kReading)
    deadline_ = state_ == State::kAnswering ? now + kStallTimeout : kNever;
}

void Connection::on_request_bytes(std::span<const char> bytes) noexcept {
  switch (request_.feed(bytes)) {
    case HttpRequestParser::Status::kFailed:
      return refuse(request_.error());
    case HttpRequestParser::Status::kComplete:
      return route_(*this);
    case HttpRequestParser::Status::kNeedMore:
      if (!request_.expects_continue() || continue_sent_) return;
      continue_sent_ = true;
      // A client that does not get it sends its body after a second anyway.
      const std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
      send_pieces(fd_, {&line, 1}, 0);
  }
}

void Connection::refuse(HttpError error) noexcept {
  body_.clear();
  body_.append(error.text).append('\n');
  answer(error.status, "text/plain; charset=utf-8");
}

void Connection::discard_input() noexcept {
  char buffer[8192];
  const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got > 0 || (got < 0 && would_block())) return;
  if (got < 0 || state_ == State::kLingering) return on_client_gone();
  input_open_ = false;
  if (ends_on_half_close_) stop_asked_ = true;
}

// Nobody is left to read an answer.
void Connection::on_client_gone() noexcept {
  end_recording(wire::EndReason::kStopped, "");
  close();
}

void Connection::answer(int status, std::string_view content_type,
                        std::string_view extra_headers) noexcept {
  if (body_.overflowed()) log_line("an answer did not fit", content_type);
  write_answer_head(status, content_type, body_.size(), extra_headers);
}

void Connection::send_file(int file, std::uint64_t size_bytes) noexcept {
  file_ = file;
  file_left_ = size_bytes;
  ::fcntl(fd_, F_SETFL, O_NONBLOCK);  // sendfile takes no flag for it
  body_.clear();
  write_answer_head(200, "application/octet-stream", size_bytes, {});
}

void Connection::write_answer_head(int status, std::string_view content_type,
                                   std::uint64_t content_bytes,
                                   std::string_view extra_headers) noexcept {
  head_.clear();
  head_.append("HTTP/1.1 ").append_number(static_cast<std::uint64_t>(status)).append(' ');
  head_.append(status_text(status)).append("\r\nserver: swipr\r\ncontent-type: ");
  head_.append(content_type).append("\r\ncontent-length: ").append_number(content_bytes);
  head_.append("\r\nconnection: close\r\n").append(extra_headers).append("\r\n");
  frame_sent_ = 0;
  state_ = State::kAnswering;
}

const char* Connection::start_recording(const RecordingRequest& request) noexcept {
  if (!exit_gate::enter_recording()) return "the process is exiting";
  if (!queue_.create(kQueueBytes)) return "no memory for the recording";
  const char* error = nullptr;
  recording_ = recorder().start(request, queue_, &error);
  if (recording_ == nullptr) return error;
  has_recorded_ = true;
  return nullptr;
}

void Connection::stream_recording(std::string_view file_name, bool ends_on_half_close) noexcept {
  ends_on_half_close_ = ends_on_half_close;
  chunked_ = !request_.is_http_1_0();
  head_.clear();
  head_.append("HTTP/1.1 200 OK\r\nserver: swipr\r\ncontent-type: application/vnd.swipr\r\n");
  head_.append("content-disposition: filename=\"").append(file_name).append("\"\r\n");
  if (chunked_) head_.append("transfer-encoding: chunked\r\n");
  head_.append("connection: close\r\n\r\n");
  tail_ = {};
  frame_bytes_ = 0;
  frame_sent_ = 0;
  state_ = State::kStreaming;
}

const char* Connection::hand_to_helper(const Settings& settings, HelperOptions options) noexcept {
  options.client = fd_;
  const char* error = start_helper(settings, options, helper_);
  if (error != nullptr) {
    end_recording(wire::EndReason::kFailed, error);
    return error;
  }
  state_ = State::kHelped;
  return nullptr;
}

void Connection::end_recording(wire::EndReason reason, const char* text) noexcept {
  if (recording_ == nullptr) return;
  recorder().finish(recording_, reason, text);
  recording_ = nullptr;
}

void Connection::end_recording_if_due() noexcept {
  if (recording_ == nullptr) return;
  const bool complete = recorder().is_complete(recording_);
  if (!complete && !stop_asked_) return;
  if (queue_.free_bytes() < kFinishBytes) return;
  end_recording(complete ? wire::EndReason::kComplete : wire::EndReason::kStopped, "");
}

void Connection::flush(Moment now) noexcept {
  if (queue_.size() == 0) return;
  flush_at_ = now;
  pump(now);
}

void Connection::end_for_exit(Moment now) noexcept {
  end_recording(wire::EndReason::kProcessExit, "");
  pump(now);
}

void Connection::pump(Moment now) noexcept {
  end_recording_if_due();
  switch (state_) {
    case State::kAnswering:
      return pump_answer(now);
    case State::kStreaming:
      return pump_stream(now);
    case State::kHelped:
      return pump_helper(now);
    default:
      return;
  }
}

void Connection::pump_answer(Moment now) noexcept {
  const std::string_view pieces[] = {head_.view(), body_.view()};
  const std::size_t total = head_.size() + body_.size();
  while (frame_sent_ < total) {
    const ssize_t sent = send_pieces(fd_, pieces, frame_sent_);
    if (sent < 0) {
      blocked_ = would_block();
      return blocked_ ? void() : close();
    }
    frame_sent_ += static_cast<std::size_t>(sent);
  }
  blocked_ = false;
  pump_file(now);
}

void Connection::pump_file(Moment now) noexcept {
  // One piece at a time, so that the ticks of a recording are not held up.
  if (file_left_ == 0) return linger(now);
  const ssize_t sent = ::sendfile(fd_, file_, nullptr, std::min(file_left_, kMaxFilePiece));
  if (sent <= 0) {
    blocked_ = sent < 0 && would_block();
    return blocked_ ? void() : close();  // 0: the file became shorter
  }
  file_left_ -= static_cast<std::uint64_t>(sent);
  blocked_ = true;
  deadline_ = now + kStallTimeout;
}

bool Connection::worth_sending(Moment now) noexcept {
  if (recording_ == nullptr || frame_sent_ > 0 || !head_.empty()) return true;
  if (queue_.size() == 0) return false;
  if (queue_.size() >= kFlushBytes || now >= flush_at_) return true;
  flush_at_ = std::min(flush_at_, now + kFlushDelay);
  return false;
}

void Connection::pump_stream(Moment now) noexcept {
  if (!worth_sending(now)) return;
  flush_at_ = kNever;
  for (;;) {
    // Before begin_frame(): the answer's head is a frame by itself.
    switch (send_frame()) {
      case Sent::kAll:
        break;
      case Sent::kBlocked:
        if (recording_ == nullptr && deadline_ == kNever) deadline_ = now + kStallTimeout;
        return;
      case Sent::kFailed:
        return on_client_gone();
    }
    if (last_frame_) return linger(now);
    end_recording_if_due();
    if (!begin_frame()) return;
  }
}

// False: nothing to send for now.
bool Connection::begin_frame() noexcept {
  frame_bytes_ = std::min(queue_.front().size(), kMaxFrameBytes);
  head_.clear();
  if (frame_bytes_ > 0) {
    if (chunked_) head_.append_hex(frame_bytes_).append("\r\n");
    tail_ = chunked_ ? "\r\n" : "";
    return true;
  }
  tail_ = {};
  if (recording_ != nullptr) return false;
  if (chunked_) head_.append("0\r\n\r\n");
  last_frame_ = true;
  return true;
}

Connection::Sent Connection::send_frame() noexcept {
  const std::string_view pieces[] = {head_.view(), as_text(queue_.front().first(frame_bytes_)),
                                     tail_};
  const std::size_t total = head_.size() + frame_bytes_ + tail_.size();
  blocked_ = false;
  while (frame_sent_ < total) {
    const ssize_t sent = send_pieces(fd_, pieces, frame_sent_);
    if (sent < 0) {
      blocked_ = would_block();
      return blocked_ ? Sent::kBlocked : Sent::kFailed;
    }
    frame_sent_ += static_cast<std::size_t>(sent);
    deadline_ = kNever;  // it moves: no stall
  }
  queue_.pop(frame_bytes_);
  head_.clear();
  tail_ = {};
  frame_bytes_ = 0;
  frame_sent_ = 0;
  return Sent::kAll;
}

void Connection::pump_helper(Moment now) noexcept {
  if (!worth_sending(now)) return;
  flush_at_ = kNever;
  blocked_ = false;
  while (helper_.input >= 0 && !helper_input_ended_) {
    end_recording_if_due();
    const std::span<const std::byte> bytes = queue_.front();
    if (bytes.empty()) {
      if (recording_ != nullptr) return;
      helper_input_ended_ = true;
      ::shutdown(helper_.input, SHUT_WR);
      return;
    }
    const ssize_t sent =
        ::send(helper_.input, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      // Anything else is the end of the helper, which poll reports.
      blocked_ = would_block();
      return;
    }
    queue_.pop(static_cast<std::size_t>(sent));
  }
}

void Connection::step_helper(Moment now, short events) noexcept {
  if ((events & (POLLHUP | POLLERR)) != 0 || now >= reap_at_) on_helper_gone(now);
}

void Connection::on_helper_gone(Moment now) noexcept {
  end_recording(wire::EndReason::kFailed, "the helper process ended early");
  switch (try_reap_helper(helper_)) {
    case HelperState::kRunning:
      reap_at_ = now + kReapRetry;
      return;
    case HelperState::kNotStarted:
      reap_at_ = kNever;
      if (fd_ < 0) return close();
      body_.clear();
      body_.append("the swipr program could not be executed\n");
      deadline_ = now + kStallTimeout;
      return answer(501, "text/plain; charset=utf-8");
    case HelperState::kAnswered:
      reap_at_ = kNever;
      return fd_ < 0 ? close() : linger(now);
  }
}

// Closing with unread input would reset the connection, and the client might lose the answer.
void Connection::linger(Moment now) noexcept {
  ::shutdown(fd_, SHUT_WR);
  flush_at_ = kNever;
  blocked_ = false;
  if (!input_open_) return close();
  state_ = State::kLingering;
  deadline_ = now + kLingerTimeout;
}

void Connection::close_client() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Connection::close() noexcept {
  close_client();
  if (helper_.pid < 0) state_ = State::kClosed;  // otherwise when the helper is reaped
}

std::string_view status_text(int status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

}  // namespace swipr::agent
