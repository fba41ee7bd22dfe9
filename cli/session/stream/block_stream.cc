#include "cli/session/stream/block_stream.h"

#include <fmt/format.h>

#include "common/wire/crc32.h"
#include "common/wire/decoder.h"

namespace swipr::session {

namespace {
using host::Error;
using host::Result;
}  // namespace

Result<void> BlockStream::feed(std::span<const std::byte> bytes) {
  // pending_ never holds a whole unit here, so it stays below one block plus what is fed now.
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  std::size_t taken = 0;
  for (;;) {
    auto size = take_unit(std::span(pending_).subspan(taken));
    if (!size) return size.error();
    if (*size == 0) break;
    taken += *size;
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(taken));
  return {};
}

Result<std::size_t> BlockStream::take_unit(std::span<const std::byte> bytes) {
  if (!has_header_) return take_file_header(bytes);
  if (bytes.size() < wire::kBlockHeaderBytes) return std::size_t{0};
  const auto header = wire::decode_block_header(bytes);
  if (!header) return Error("the stream has no block header where one is expected");
  const std::size_t size = wire::kBlockHeaderBytes + header->payload_bytes;
  if (bytes.size() < size) return std::size_t{0};
  const auto payload = bytes.subspan(wire::kBlockHeaderBytes, header->payload_bytes);
  if (wire::crc32(payload) != header->crc) return Error("a block of the stream is damaged");
  if (auto done = sink_(payload); !done) return done.error();
  return size;
}

Result<std::size_t> BlockStream::take_file_header(std::span<const std::byte> bytes) {
  std::uint16_t version = 0;
  switch (wire::decode_file_header(bytes, version)) {
    case wire::HeaderStatus::kIncomplete:
      return std::size_t{0};
    case wire::HeaderStatus::kNotSwipr:
      return Error("the process does not send a .swipr stream");
    case wire::HeaderStatus::kNewerVersion:
      return Error(
          fmt::format("the process sends version {} of the raw format, this swipr supports {}; use "
                      "the swipr of the same version as the library in the process",
                      version, wire::kVersion));
    case wire::HeaderStatus::kOk:
      break;
  }
  has_header_ = true;
  return wire::kFileHeaderBytes;
}

}  // namespace swipr::session
