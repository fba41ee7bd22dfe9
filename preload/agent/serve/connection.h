// One client: its request, then one answer, which is a short text, the raw stream, or the output of
// a helper process that converts the raw stream. One request per connection.
// Context: control thread.  Blocks: never.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "preload/agent/base/output_queue.h"
#include "preload/agent/base/text/fixed_text.h"
#include "preload/agent/engine/recorder.h"
#include "preload/agent/serve/helper_process.h"
#include "preload/agent/serve/listener.h"
#include "preload/agent/serve/request/http_request.h"

namespace swipr::agent {

class Connection;

// Selects the answer once the request is complete.
using RouteFunction = void (*)(Connection& connection);

class Connection {
 public:
  // `listener` null: the agent made this connection itself. Uses anonymous memory, which is freed
  // with the connection. nullptr: no memory (the caller still owns `fd`).
  static Connection* create(int fd, const Listener* listener, RouteFunction route,
                            Moment now) noexcept;
  // `place` is cleared first: the program may fork meanwhile, and the child forgets what is there.
  static void destroy(Connection*& place) noexcept;
  // After a fork, in the child: frees memory; descriptors and recording belong to the parent.
  static void forget(Connection* connection) noexcept;

  // Two entries: the client and the helper's input.
  static constexpr std::size_t kPollCount = 2;
  void fill_polls(pollfd* out) const noexcept;
  Moment wake_at() const noexcept;
  // Deadline for the rest of the request; kNever: the request is complete.
  Moment request_due_at() const noexcept { return state_ == State::kReading ? deadline_ : kNever; }
  // Drops a client whose request is not complete, if possible with an answer that states the
  // reason.
  void make_room() noexcept;
  void step(Moment now, short client_events, short helper_events) noexcept;
  // Sends data that was held back to be sent together, as far as the client accepts it.
  void flush(Moment now) noexcept;
  // The agent ends: ends the recording and sends the data.
  void end_for_good(Moment now, wire::EndReason reason, const char* text) noexcept;

  bool is_closed() const noexcept { return state_ == State::kClosed; }
  bool is_recording() const noexcept { return recording_ != nullptr; }
  bool has_recorded() const noexcept { return has_recorded_; }
  // The caller owns the process that still writes the answer, if any, from now on.
  HelperProcess take_helper() noexcept;
  // Bytes of a recording that have not been sent to the client or the helper yet.
  bool has_unsent() const noexcept {
    return state_ == State::kStreaming || (state_ == State::kHelped && !helper_input_ended_);
  }

  // For routes.
  HttpRequestParser& request() noexcept { return request_; }
  const Listener* listener() const noexcept { return listener_; }
  int descriptor() const noexcept { return fd_; }
  TextWriter& body() noexcept { return body_; }  // of a short answer, to be filled before answer()
  // `extra_headers`: whole lines with their ends.
  void answer(int status, std::string_view content_type,
              std::string_view extra_headers = {}) noexcept;
  // The client requested only the head of the answer (HEAD).
  bool wants_head_only() const noexcept { return request_.method() == "HEAD"; }
  // The head of an answer that is not generated just to determine its length.
  void answer_head(std::string_view content_type) noexcept;
  // Answers with the file; the connection owns it from now on.
  void send_file(int file, std::uint64_t size_bytes) noexcept;
  // nullptr: started, and one of the two below must follow; otherwise the reason.
  const char* start_recording(const RecordingRequest& request) noexcept;
  // `ends_on_half_close`: the client ends the recording by shutting down its write side.
  void stream_recording(std::string_view file_name, bool ends_on_half_close) noexcept;
  // nullptr: the helper answers; otherwise the reason, and the recording has ended.
  const char* hand_to_helper(const Settings& settings, HelperOptions options) noexcept;

 private:
  enum class State : std::uint8_t {
    kReading,
    kAnswering,
    kStreaming,
    kHelped,
    kLingering,
    kClosed
  };
  // For a client that does not read the end of its recording.
  static constexpr Moment kStallTimeout = std::chrono::seconds(60);
  // For one that reads nothing while functions are traced for it: it may have been stopped.
  static constexpr Moment kUnreadTimeout = std::chrono::seconds(5);
  enum class Sent : std::uint8_t { kAll, kBlocked, kFailed };

  Connection(int fd, const Listener* listener, RouteFunction route, Moment now) noexcept;
  ~Connection();

  void read_request(Moment now) noexcept;
  void on_request_bytes(std::span<const char> bytes) noexcept;
  void refuse(HttpError error) noexcept;
  void discard_input() noexcept;
  void on_client_gone() noexcept;
  void end_recording(wire::EndReason reason, const char* text) noexcept;
  void end_recording_if_due() noexcept;
  void pump(Moment now) noexcept;
  void pump_answer(Moment now) noexcept;
  void pump_file(Moment now) noexcept;
  void pump_stream(Moment now) noexcept;
  bool begin_frame() noexcept;
  Sent send_frame() noexcept;
  void pump_helper(Moment now) noexcept;
  void step_helper(Moment now, short events) noexcept;
  void on_helper_gone(Moment now) noexcept;
  void linger(Moment now) noexcept;
  void write_answer_head(int status, std::string_view content_type,
                         std::optional<std::uint64_t> content_bytes,
                         std::string_view extra_headers) noexcept;
  void close_client() noexcept;
  void close() noexcept;
  bool worth_sending(Moment now) noexcept;
  void watch_reader(Moment now) noexcept;

  State state_ = State::kReading;
  int fd_;
  const Listener* listener_;
  RouteFunction route_;
  Moment deadline_;               // of the present state; kNever: none
  Moment flush_at_ = kNever;      // when bytes that are held back are sent in any case
  Moment unread_since_ = kNever;  // the client has not read everything since
  Moment reap_at_ = kNever;       // when to check again whether the helper has ended
  bool input_open_ = true;        // the client has not shut down its write side
  bool blocked_ = false;          // the last write did not take everything
  bool ends_on_half_close_ = false;
  bool stop_asked_ = false;
  bool has_recorded_ = false;
  bool chunked_ = true;
  bool last_frame_ = false;
  bool helper_input_ended_ = false;
  bool continue_sent_ = false;

  int file_ = -1;  // its rest follows body_
  std::uint64_t file_left_ = 0;
  Recording* recording_ = nullptr;
  OutputQueue queue_;
  HelperProcess helper_;

  // The current frame: head_, then frame_bytes_ of the queue's front, then tail_.
  std::size_t frame_bytes_ = 0;
  std::size_t frame_sent_ = 0;
  std::string_view tail_;
  FixedText<1024> head_;
  FixedText<32768> body_;
  HttpRequestParser request_;
};

std::string_view status_text(int status) noexcept;

}  // namespace swipr::agent
