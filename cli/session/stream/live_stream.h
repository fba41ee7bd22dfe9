// One connection of a recording that is followed: hands its bytes on as they come.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cli/session/http/http_response.h"
#include "cli/session/stream/record_stream.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

class LiveStream {
 public:
  // Receives parts of the .swipr stream. Lifetime: the span is valid during the call.
  using Sink = std::function<void(std::span<const std::byte>)>;

  LiveStream(host::UniqueFd connection, const StreamRequest& request, Sink sink);

  int fd() const { return connection_.value(); }
  // Reads what has arrived.  Returns false at the end.
  // Errors: the process refuses, with its reason; the connection broke.
  host::Result<bool> read();
  // Asks the process to end the recording; what is left is read until the end.
  void request_end();

 private:
  host::Result<void> on_body(std::span<const std::byte> bytes);
  host::Result<bool> at_end() const;

  host::UniqueFd connection_;
  Sink sink_;
  ResponseReader response_;
  std::string refusal_;
};

}  // namespace swipr::session
