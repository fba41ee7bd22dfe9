// How a connection sends its answer: to the client as text, file or stream, or to the helper.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>

#include "preload/agent/serve/connection.h"
#include "preload/agent/serve/socket_send.h"

namespace swipr::agent {

namespace {

using namespace std::chrono_literals;

constexpr Moment kLingerTimeout = 2s;
constexpr Moment kReapRetry = 1ms;  // a process closes its files just before it can be reaped
// A tick produces a few hundred bytes; sending them at every tick would cost more than sampling.
constexpr Moment kFlushDelay = 50ms;
constexpr std::size_t kFlushBytes = 65536;
constexpr std::size_t kMaxFrameBytes = 262144;
constexpr std::uint64_t kMaxFilePiece = 262144;

std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Connection::pump(Moment now) noexcept {
  end_recording_if_due();
  watch_reader(now);
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

// Functions are traced as long as their client reads.
void Connection::watch_reader(Moment now) noexcept {
  if (recording_ == nullptr || !recorder().traces_functions(recording_)) return;
  int unread = 0;
  const bool has_unread = ::ioctl(fd_, SIOCOUTQ, &unread) == 0 && unread != 0;
  unread_since_ = has_unread ? std::min(unread_since_, now) : kNever;
  if (has_unread && now - unread_since_ >= kUnreadTimeout) {
    end_recording(wire::EndReason::kFailed, "the client has not read anything for 5 seconds");
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
  // One piece at a time, so that the ticks of a recording are not delayed.
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
    // Before begin_frame(): the answer's head is a separate frame.
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

// False: nothing to send now.
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
    deadline_ = kNever;  // progress: not stalled
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
      // Any other error means that the helper has ended, which poll reports.
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

}  // namespace swipr::agent
