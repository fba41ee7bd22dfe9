// UNIX sockets of recorded processes: connecting, who the peer is, one request and its answer.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

#include "cli/session/http/http_response.h"
#include "common/core/ids.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

// Who listens (or connected) at the other end, as the kernel noted it then.
struct Peer {
  Pid pid;  // 0: not visible in our PID namespace
  uid_t uid = 0;
};
host::Result<Peer> read_peer(int fd);

struct ConnectOutcome {
  host::UniqueFd fd;  // empty: failed with `error`
  int error = 0;
  Peer peer;
};

// Connects to the socket NAME in DIRECTORY. The directory is opened first and not through a symlink
// in its last component, so that paths of any length work. Blocks: at most two seconds, when the
// peer's queue is full.
ConnectOutcome connect_in(const std::string& directory, const std::string& name);

// Sends all of `text`.  Errors: the peer is gone.
host::Result<void> send_text(int fd, std::string_view text);

// GET `path`. `sink` receives the body of a 200; the result is the status.
// Blocks: at most `timeout`.  Errors: no whole answer in time, or what the sink returned.
host::Result<int> fetch_into(int fd, std::string_view path, std::chrono::milliseconds timeout,
                             const ResponseReader::BodySink& sink);

struct Answer {
  int status = 0;
  std::string body;
};
// The same into memory, whatever the status.  Bounds: 64 KiB of body.
host::Result<Answer> fetch(int fd, std::string_view path, std::chrono::milliseconds timeout);

}  // namespace swipr::session
