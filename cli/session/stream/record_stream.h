// One connection of a recording. Requests the recording from the agent and copies its stream to
// the file as one source.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/session/http/http_response.h"
#include "cli/session/stream/block_stream.h"
#include "cli/session/stream/recording_file.h"
#include "cli/session/stream/stream_meter.h"
#include "common/host/result.h"
#include "common/host/unique_fd.h"
#include "common/wire/format.h"

namespace swipr::session {

struct StreamRequest {
  std::chrono::nanoseconds interval = std::chrono::milliseconds(10);
  std::uint64_t ticks = 0;                  // 0: no limit
  std::chrono::nanoseconds duration{0};     // 0: no limit
  std::uint32_t max_overhead_permille = 0;  // of one CPU; 0: the agent's default
  wire::RecordMode mode = wire::RecordMode::kWall;
  bool jitter = true;            // ticks at random intervals
  bool omits_arguments = false;  // remove the command line from the file; not sent to the agent
  bool tasks = false;            // of asyncio, too
  bool sampling = true;          // false: ticks take no samples
  std::string probes{};          // functions to trace, as common/wire/traced_calls.h has them
  std::chrono::nanoseconds latency_interval = std::chrono::seconds(1);  // of their records
  // As common/wire/slow_calls.h has them.
  std::string slower{};    // empty: no slow calls
  std::size_t frames = 8;  // of slow calls
  std::string sites{};     // empty: calls from anywhere
  std::string strings{};   // of slow calls: a line for each of `probes`; empty: none
  bool threads = false;    // durations of each thread, too
};

// The request in wire format.
std::string format_record_request(const StreamRequest& request);

class RecordStream {
 public:
  // `label` names the process in messages. Lifetime: `file` outlives the stream.
  RecordStream(host::UniqueFd connection, std::string label, RecordingFile& file);
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  void start(const StreamRequest& request);
  bool is_open() const { return static_cast<bool>(connection_); }
  int fd() const { return connection_.value(); }

  // Reads a bounded part of what has arrived. Closes at the end or on an error.
  void on_readable();
  // Asks the agent to stop. Its remaining data is read until it closes.
  void request_end();
  // True until the agent has answered or refused.
  bool is_unanswered() const { return is_open() && !response_.has_header(); }
  // Closes at once as break_off does, with this reason.
  void give_up(const host::Error& reason) { fail(reason); }
  // Closes at once. Writes an end record with the reason if the source has none.
  void break_off();

  const StreamSummary& summary() const { return meter_.summary(); }
  // The reason why it ended early or never began. Write errors of the file are not included.
  const std::optional<host::Error>& error() const { return error_; }
  // True if the connection closed without a block and without a reason.
  bool vanished() const { return vanished_; }
  // True after the first block.
  bool has_data() const { return source_.has_value(); }

 private:
  host::Result<void> on_body(std::span<const std::byte> bytes);
  host::Result<void> on_block(std::span<const std::byte> payload);
  host::Result<void> write_first(std::span<const std::byte> payload);
  void on_closed();
  void fail(const host::Error& error);

  host::UniqueFd connection_;
  std::string label_;
  RecordingFile& file_;
  ResponseReader response_;
  BlockStream blocks_;
  StreamMeter meter_;
  std::optional<std::uint32_t> source_;
  bool omits_arguments_ = false;
  std::string refusal_;  // body of an answer with a status other than 200
  std::optional<host::Error> error_;
  bool vanished_ = false;
};

}  // namespace swipr::session
