#include "cli/session/stream/record_stream.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "cli/session/http/connection.h"
#include "common/host/proc.h"
#include "common/host/text/duration.h"
#include "common/wire/decoder.h"
#include "common/wire/names.h"

namespace swipr::session {

namespace {

using host::Error;
using host::Result;

constexpr std::size_t kMaxRefusalBytes = 1024;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;

// The first line without control characters, because it is printed on a terminal.
std::string printable_line(std::string_view text) {
  std::string line(text.substr(0, text.find('\n')));
  std::erase_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return line;
}

// Paths of modules may hold any byte but 0.
std::string json_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char byte : text) {
    if (byte == '"' || byte == '\\') quoted += '\\';
    if (static_cast<unsigned char>(byte) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
    } else {
      quoted += byte;
    }
  }
  return quoted + '"';
}

}  // namespace

std::string format_record_request(const StreamRequest& request) {
  std::string body =
      fmt::format(R"({{"timeInterval":"{}")", host::format_exact_duration(request.interval));
  if (request.ticks != 0) body += fmt::format(R"(,"numberOfSamples":{})", request.ticks);
  if (request.duration.count() != 0) {
    body += fmt::format(R"(,"duration":"{}")", host::format_exact_duration(request.duration));
  }
  if (const std::uint32_t permille = request.max_overhead_permille; permille != 0) {
    body += fmt::format(R"(,"maxOverhead":"{}.{}%")", permille / 10, permille % 10);
  }
  if (request.mode != wire::RecordMode::kWall) {
    const auto mode = static_cast<std::size_t>(request.mode);
    body += fmt::format(R"(,"mode":"{}")", wire::kRecordModeNames[mode]);
  }
  if (!request.jitter) body += R"(,"jitter":false)";
  if (request.tasks) body += R"(,"tasks":true)";
  if (!request.sampling) body += R"(,"sampling":false)";
  if (!request.probes.empty()) {
    body += fmt::format(R"(,"probes":{},"latencyInterval":"{}")", json_quoted(request.probes),
                        host::format_exact_duration(request.latency_interval));
  }
  if (!request.slower.empty()) {
    body += fmt::format(R"(,"slower":"{}","frames":{})", request.slower, request.frames);
  }
  if (!request.strings.empty())
    body += fmt::format(R"(,"strings":{})", json_quoted(request.strings));
  if (!request.sites.empty()) body += fmt::format(R"(,"sites":{})", json_quoted(request.sites));
  if (request.threads) body += R"(,"threads":true)";
  body += '}';
  return fmt::format(
      "POST /v1/record HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      body.size(), body);
}

RecordStream::RecordStream(host::UniqueFd connection, std::string label, RecordingFile& file)
    : connection_(std::move(connection)),
      label_(std::move(label)),
      file_(file),
      response_([this](std::span<const std::byte> bytes) { return on_body(bytes); }),
      blocks_([this](std::span<const std::byte> payload) { return on_block(payload); }) {}

void RecordStream::start(const StreamRequest& request) {
  omits_arguments_ = request.omits_arguments;
  // A closed connection is noticed when reading, after the last data of the peer.
  static_cast<void>(send_text(fd(), format_record_request(request)));
}

void RecordStream::on_readable() {
  static thread_local std::vector<std::byte> buffer(kReadBytes);
  const ssize_t count = ::recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {  // an exec'd or killed process can reset the connection
    on_closed();
    return;
  }
  auto done = response_.feed(std::span(buffer).first(static_cast<std::size_t>(count)));
  if (!done) {
    fail(done.error());
  } else if (response_.complete()) {
    on_closed();
  }
}

Result<void> RecordStream::on_body(std::span<const std::byte> bytes) {
  if (response_.status() == 200) return blocks_.feed(bytes);
  const std::size_t room = kMaxRefusalBytes - refusal_.size();
  const auto part = bytes.first(std::min(bytes.size(), room));
  refusal_.append(reinterpret_cast<const char*>(part.data()), part.size());
  return {};
}

Result<void> RecordStream::on_block(std::span<const std::byte> payload) {
  if (auto known = meter_.observe(payload); !known) return known;
  if (source_) return file_.write_block(*source_, payload);
  source_ = file_.add_source();
  return write_first(payload);
}

// Adds the uid, because the agent in a container may see another one, and removes the command
// line if requested, for agents of all versions.
Result<void> RecordStream::write_first(std::span<const std::byte> payload) {
  std::vector<std::byte> room(wire::kMaxBlockPayloadBytes);
  wire::Encoder out(room);
  std::span<const std::byte> rest = payload;
  const auto first = wire::take_record(rest);
  auto source = first && first->type == static_cast<std::uint8_t>(wire::RecordType::kSource)
                    ? wire::decode_source(first->payload)
                    : std::nullopt;
  if (!source) return file_.write_block(*source_, payload);
  if (omits_arguments_) {
    source->command_line = {};
    wire::encode(out, *source);
  } else {  // also fields that a later version has added
    for (const std::byte byte : payload.first(payload.size() - rest.size())) {
      out.put_byte(std::to_integer<std::uint8_t>(byte));
    }
  }
  if (const auto peer = read_peer(fd())) {
    const auto status = host::read_process_status(peer->pid);
    wire::encode(out, wire::UserRecord{status ? status->uid : peer->uid});
  }
  std::vector<std::byte> block(out.bytes().begin(), out.bytes().end());
  if (block.size() + rest.size() > wire::kMaxBlockPayloadBytes) {
    if (auto written = file_.write_block(*source_, block); !written) return written;
    block.clear();
  }
  block.insert(block.end(), rest.begin(), rest.end());
  return file_.write_block(*source_, block);
}

void RecordStream::on_closed() {
  if (response_.has_header() && response_.status() != 200) {
    const std::string line = printable_line(refusal_);
    fail(Error(line.empty() ? fmt::format("answered with HTTP status {}", response_.status())
                            : line));
  } else if (!has_data()) {
    vanished_ = true;
    fail(Error("the process ended or closed the connection before the recording began"));
  } else if (summary().end == wire::EndReason::kFailed) {
    fail(Error("the recording ended early: " + printable_line(summary().end_text)));
  } else {
    break_off();
  }
}

void RecordStream::request_end() {
  if (is_open()) ::shutdown(fd(), SHUT_WR);
}

void RecordStream::break_off() {
  connection_.close();
  if (!has_data() || summary().end) return;
  wire::EndRecord end;
  end.reason = wire::EndReason::kConnectionLost;
  end.duration_ns = static_cast<std::uint64_t>(summary().elapsed.count());
  // A full disk has been reported by the previous write. The file is usable without this record.
  if (!file_.failed()) static_cast<void>(file_.write_end(*source_, end));
}

void RecordStream::fail(const Error& error) {
  if (!file_.failed()) error_ = error.with_context(label_);
  break_off();
}

}  // namespace swipr::session
