// UNIX sockets of recorded processes: connections, peer credentials, one request and its answer.
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

// Credentials of the peer at the time of listen() or connect().
struct Peer {
  Pid pid;  // 0: not visible in this PID namespace
  uid_t uid = 0;
};
host::Result<Peer> read_peer(int fd);
// Whether this user may record a process that has connected.
bool is_recordable(const Peer& peer);

struct ConnectOutcome {
  host::UniqueFd fd;  // empty: the connection failed with `error`
  int error = 0;
  Peer peer;
};

// Connects to the socket NAME in DIRECTORY. The directory is opened first, so that paths of any
// length work. A symlink as its last component is refused.
// Blocks: at most two seconds, if the queue of the peer is full.
ConnectOutcome connect_in(const std::string& directory, const std::string& name);

// Sends all of `text`.  Errors: the peer is gone.
host::Result<void> send_text(int fd, std::string_view text);

// Sends GET `path`. `sink` receives the body of a 200 answer. Returns the status.
// Blocks: at most `timeout`.
// Errors: no complete answer in time; errors of the sink.
host::Result<int> fetch_into(int fd, std::string_view path, std::chrono::milliseconds timeout,
                             const ResponseReader::BodySink& sink);

struct Answer {
  int status = 0;
  std::string body;
};
// The same, but stores the body of any answer.  Bounds: 64 KiB of body.
host::Result<Answer> fetch(int fd, std::string_view path, std::chrono::milliseconds timeout);

}  // namespace swipr::session
