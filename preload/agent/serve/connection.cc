#include "preload/agent/serve/connection.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "preload/agent/base/log.h"
#include "preload/agent/base/text/text_view.h"
#include "preload/agent/guest/gates/exit_gate.h"
#include "preload/agent/serve/socket_send.h"

namespace swipr::agent {

namespace {

using namespace std::chrono_literals;

constexpr Moment kRequestTimeout = 10s;
constexpr std::size_t kQueueBytes = std::size_t{4} << 20;
// Room for totals and end record, and for the data of the last ticks.
constexpr std::size_t kFinishBytes = std::size_t{1} << 20;

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

void Connection::destroy(Connection*& place) noexcept {
  Connection* const connection = std::exchange(place, nullptr);
  connection->~Connection();
  ::munmap(connection, sizeof(Connection));
}

void Connection::forget(Connection* connection) noexcept {
  connection->queue_.~OutputQueue();
  release_helper_memory(connection->helper_);
  ::munmap(connection, sizeof(Connection));
}

HelperProcess Connection::take_helper() noexcept {
  const HelperProcess helper = helper_;
  helper_ = {};
  return helper;
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
      // A client that does not receive it sends its body after a second anyway.
      const std::string_view line = "HTTP/1.1 100 Continue\r\n\r\n";
      send_pieces(fd_, {&line, 1}, 0);
  }
}

void Connection::refuse(HttpError error) noexcept {
  body_.clear();
  body_.append(error.text).append('\n');
  answer(error.status, "text/plain; charset=utf-8");
}

void Connection::make_room() noexcept {
  refuse({408, "there are 32 other clients, and this one had sent no request"});
  const std::string_view pieces[] = {head_.view(), body_.view()};
  send_pieces(fd_, pieces, 0);
  close();
}

void Connection::discard_input() noexcept {
  char buffer[8192];
  const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got > 0 || (got < 0 && would_block())) return;
  if (got < 0 || state_ == State::kLingering) return on_client_gone();
  input_open_ = false;
  if (ends_on_half_close_) stop_asked_ = true;
}

// No client is left to read an answer.
void Connection::on_client_gone() noexcept {
  end_recording(wire::EndReason::kStopped, "");
  close();
}

void Connection::answer(int status, std::string_view content_type,
                        std::string_view extra_headers) noexcept {
  if (status >= 400) {
    log_line(LogLevel::kWarning, "request refused", leading(body_.view(), body_.view().find('\n')));
  }
  if (body_.overflowed()) log_line(LogLevel::kWarning, "an answer was too large", content_type);
  write_answer_head(status, content_type, body_.size(), extra_headers);
}

void Connection::answer_head(std::string_view content_type) noexcept {
  write_answer_head(200, content_type, std::nullopt, {});
}

void Connection::send_file(int file, std::uint64_t size_bytes) noexcept {
  file_ = file;
  file_left_ = size_bytes;
  ::fcntl(fd_, F_SETFL, O_NONBLOCK);  // sendfile has no such flag
  body_.clear();
  write_answer_head(200, "application/octet-stream", size_bytes, {});
}

void Connection::write_answer_head(int status, std::string_view content_type,
                                   std::optional<std::uint64_t> content_bytes,
                                   std::string_view extra_headers) noexcept {
  head_.clear();
  head_.append("HTTP/1.1 ").append_number(static_cast<std::uint64_t>(status)).append(' ');
  head_.append(status_text(status)).append("\r\nserver: swipr\r\ncontent-type: ");
  head_.append(content_type).append("\r\n");
  if (content_bytes) head_.append("content-length: ").append_number(*content_bytes).append("\r\n");
  head_.append("connection: close\r\n").append(extra_headers).append("\r\n");
  if (wants_head_only()) {
    body_.clear();
    file_left_ = 0;
  }
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

void Connection::end_for_good(Moment now, wire::EndReason reason, const char* text) noexcept {
  end_recording(reason, text);
  pump(now);
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
    case 401:
      return "Unauthorized";
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
