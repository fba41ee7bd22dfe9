#include "cli/session/stream/live_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "cli/session/http/connection.h"

namespace swipr::session {

namespace {
constexpr std::size_t kLiveReadBytes = std::size_t{64} << 10;
// At most this often in one read(), so that one stream does not hold up others.
constexpr int kMostPieces = 16;
constexpr std::size_t kMaxReasonBytes = 512;
}  // namespace

LiveStream::LiveStream(host::UniqueFd connection, const StreamRequest& request, Sink sink)
    : connection_(std::move(connection)),
      sink_(std::move(sink)),
      response_([this](std::span<const std::byte> bytes) { return on_body(bytes); }) {
  // A closed connection is noticed when reading.
  static_cast<void>(send_text(fd(), format_record_request(request)));
}

host::Result<bool> LiveStream::read() {
  std::array<std::byte, kLiveReadBytes> buffer;
  for (int piece = 0; piece < kMostPieces; ++piece) {
    const ssize_t count = ::recv(fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (count <= 0) return at_end();
    const auto bytes = std::span(buffer).first(static_cast<std::size_t>(count));
    if (auto fed = response_.feed(bytes); !fed) return fed.error();
    if (response_.complete()) return at_end();
    if (bytes.size() < buffer.size()) return true;
  }
  return true;
}

void LiveStream::request_end() { ::shutdown(fd(), SHUT_WR); }

host::Result<void> LiveStream::on_body(std::span<const std::byte> bytes) {
  if (response_.status() == 200) {
    sink_(bytes);
    return {};
  }
  const auto part = bytes.first(std::min(bytes.size(), kMaxReasonBytes - refusal_.size()));
  refusal_.append(reinterpret_cast<const char*>(part.data()), part.size());
  return {};
}

host::Result<bool> LiveStream::at_end() const {
  if (!response_.has_header()) return host::Error("the process closed the connection");
  if (response_.status() == 200) return false;
  std::string reason = refusal_.substr(0, refusal_.find('\n'));
  std::erase_if(reason, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return host::Error(reason.empty() ? "the process refuses to be recorded" : reason);
}

}  // namespace swipr::session
