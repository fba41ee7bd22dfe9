// The control thread's loop: one poll over listening sockets, clients and helpers, with the next
// tick as its timeout. Without clients it sleeps in that poll.
// Context: control thread.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "preload/agent/guest/gates/gates.h"
#include "preload/agent/guest/gates/start_gate.h"
#include "preload/agent/guest/settings.h"
#include "preload/agent/output/file_recording.h"
#include "preload/agent/serve/connection.h"
#include "preload/agent/serve/listener.h"

namespace swipr::agent {

inline constexpr std::size_t kMaxConnections = 32;

class Server {
 public:
  // Opens the rendezvous and the listening sockets, then serves until the process ends. Returns
  // when the thread has to be parked. `forked`: in the child of a fork, which usually execs at
  // once.
  void run(const Settings& settings, pid_t pid, bool forked) noexcept;
  // Before the control thread starts in a child of a fork, or again after parking. After parking,
  // it reaps the helpers that were writing answers at that time.
  void reset_after_fork() noexcept;
  std::string_view socket_path() const noexcept { return default_listener_.path.view(); }

 private:
  // Entries of the poll: listeners, then the exit gate, then kPollCount for each connection.
  static constexpr std::size_t kListenerCount = 2;
  static constexpr std::size_t kFirstConnectionPoll = kListenerCount + 1;
  static constexpr std::size_t kPollCount =
      kFirstConnectionPoll + kMaxConnections * Connection::kPollCount;

  void open_places(const Settings& settings, pid_t pid) noexcept;
  void restore_places() noexcept;
  void meet(const Settings& settings) noexcept;
  void wait() noexcept;
  Moment next_wake() const noexcept;
  void step(Moment now) noexcept;
  void accept_from(const Listener& listener) noexcept;
  // nullptr, or the reason for a failure; the caller then still owns `fd`.
  const char* add(int fd, const Listener* listener, Connection*& out) noexcept;
  Connection** find_slot() noexcept;
  void leave_helper(HelperProcess helper) noexcept;
  void reap_left_helpers(Moment now) noexcept;
  void forget_left_helpers() noexcept;
  void flush(Moment now) noexcept;
  void report_meeting() noexcept;
  void end_recordings(wire::EndReason reason, const char* text) noexcept;
  void close_listeners() noexcept;
  bool is_last_thread(Moment now) noexcept;
  void finish() noexcept;
  void park() noexcept;

  const Settings* settings_ = nullptr;
  FileRecording file_recording_;
  Listener default_listener_;
  Listener url_listener_;
  // Helpers that were writing answers when the thread was parked.
  HelperProcess left_helpers_[kMaxConnections];
  pid_t left_in_ = 0;  // the process whose children they are
  Moment reap_at_ = kNever;
  Moment watch_at_{0};  // the program's threads may all have ended by then
  Connection* connections_[kMaxConnections] = {};
  Connection* meeting_ = nullptr;  // the rendezvous, until its recording has started
  Moment accept_again_at_{0};
  pollfd polls_[kPollCount] = {};
};

}  // namespace swipr::agent
