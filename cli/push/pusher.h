// A process that sends the requests of a spool to one store, for as long as it takes. It alone
// knows the token.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/push/requests/store_url.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::push {

struct PusherSettings {
  StoreUrl url;
  std::string spool_folder;
  std::uint64_t spool_bytes = 0;
  std::string token_file, tenant, ca_file;
  // New requests are sent after a random part of this time: all hosts have them at the same moment.
  std::chrono::nanoseconds spread{0};
};

// One step of a pusher.
struct PushEvent {
  enum class Kind : std::uint8_t {
    kStored,
    kRefused,  // dropped: it would be refused again
    kUnknown,  // dropped: it may be stored
    kTooOld,   // dropped: the store takes no profiles of that age
    kLater,    // the store is busy or not reachable; it is asked again
  };
  Kind kind = Kind::kStored;
  std::uint64_t bytes = 0;  // of the body
  std::string text;         // what the store or the system said
};

class Pusher {
 public:
  // Forks. Thread: the caller has no other threads.
  // Errors: the token cannot be read, a proxy is not usable, the program that sends is missing.
  static host::Result<Pusher> start(const PusherSettings& settings);
  Pusher(Pusher&& other) noexcept;
  Pusher& operator=(Pusher&&) = delete;
  ~Pusher();  // ends the process at once; what was not sent stays in the spool

  int fd() const { return events_.value(); }
  // What has happened since the last call.  Blocks: never.
  std::vector<PushEvent> take_events();
  // There are new requests in the spool.
  void notify();
  // Ends when the spool is empty or the store does not answer; take_events() goes on.
  void finish();
  bool has_ended();

 private:
  Pusher(pid_t pid, host::UniqueFd control, host::UniqueFd events);

  pid_t pid_ = -1;
  host::UniqueFd control_;
  host::UniqueFd events_;
  std::string unread_;
};

// "stored 1234 text": one line of a pusher's report.
std::string format_push_event(const PushEvent& event);
// Errors: not such a line.
host::Result<PushEvent> parse_push_event(std::string_view line);

}  // namespace swipr::push
