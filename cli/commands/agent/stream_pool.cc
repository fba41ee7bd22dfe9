#include "cli/commands/agent/stream_pool.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "cli/session/stream/block_stream.h"
#include "common/wire/encoder.h"

namespace swipr::commands {

namespace {
// What is known of stacks takes a few times as much memory as its records.
constexpr std::size_t kMaxFedBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxProcesses = 4000;
}  // namespace

struct StreamPool::Stream {
  Stream(StreamPool& pool, std::uint32_t number, host::UniqueFd connection,
         const session::StreamRequest& request)
      : blocks([&pool, number](std::span<const std::byte> payload) {
          pool.feed(number, payload);
          return host::Result<void>();
        }),
        live(std::move(connection), request, [this](std::span<const std::byte> bytes) {
          if (auto fed = blocks.feed(bytes); !fed && !error) error = fed.error();
        }) {}

  session::BlockStream blocks;
  std::optional<host::Error> error;
  session::LiveStream live;
};

StreamPool::StreamPool(const session::StreamRequest& request) : request_(request) { forget(); }
StreamPool::~StreamPool() = default;

void StreamPool::forget() {
  streams_.clear();
  reader_ = std::make_unique<importers::SwiprReader>();
  std::array<std::byte, wire::kFileHeaderBytes> header{};
  wire::Encoder out(header);
  wire::encode_file_header(out);
  reader_->feed(out.bytes());
  fed_bytes_ = 0;
}

bool StreamPool::is_full() const {
  return fed_bytes_ > kMaxFedBytes || reader_->so_far().processes.size() > kMaxProcesses;
}

std::uint32_t StreamPool::open(host::UniqueFd connection, unsigned halvings) {
  const std::uint32_t number = next_++;
  session::StreamRequest request = request_;
  request.interval *= 1 << halvings;
  streams_.emplace(number, std::make_unique<Stream>(*this, number, std::move(connection), request));
  return number;
}

void StreamPool::add_descriptors(std::vector<pollfd>& waits) const {
  for (const auto& [number, stream] : streams_) waits.push_back({stream->live.fd(), POLLIN, 0});
}

std::vector<StreamPool::Ended> StreamPool::read(const std::vector<pollfd>& waits) {
  std::vector<Ended> ended;
  for (const pollfd& wait : waits) {
    if (wait.revents == 0) continue;
    const auto place = std::find_if(streams_.begin(), streams_.end(), [&wait](const auto& entry) {
      return entry.second->live.fd() == wait.fd;
    });
    if (place == streams_.end()) continue;
    Stream& stream = *place->second;
    auto more = stream.live.read();
    if (more && stream.error) more = *stream.error;
    if (more && *more) continue;
    ended.push_back({place->first, more ? std::string() : more.error().message()});
    close(place->first);
  }
  return ended;
}

void StreamPool::request_end(std::uint32_t stream) {
  const auto place = streams_.find(stream);
  if (place != streams_.end()) ::shutdown(place->second->live.fd(), SHUT_WR);
}

void StreamPool::request_end_of_all() {
  for (const auto& [number, stream] : streams_) ::shutdown(stream->live.fd(), SHUT_WR);
}

// A worker may hold the descriptor, too.
void StreamPool::close(std::uint32_t stream) {
  const auto place = streams_.find(stream);
  if (place == streams_.end()) return;
  ::shutdown(place->second->live.fd(), SHUT_RDWR);
  streams_.erase(place);
}

std::vector<profile::Sample> StreamPool::take_samples() {
  return std::exchange(reader_->so_far().samples, {});
}

void StreamPool::feed(std::uint32_t source, std::span<const std::byte> payload) {
  std::array<std::byte, wire::kBlockHeaderBytes> header{};
  wire::Encoder out(header);
  wire::encode_block_header(out, source, payload);
  reader_->feed(out.bytes());
  reader_->feed(payload);
  fed_bytes_ += payload.size();
}

}  // namespace swipr::commands
