// The reader of .swipr files: any bytes, in chunks of any size, end in a Recording or an error.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/import/swipr_reader.h"
#include "common/wire/crc32.h"
#include "common/wire/decoder.h"
#include "tests/fuzz/check_recording.h"

namespace {

using swipr::wire::kBlockHeaderBytes;
using Bytes = std::span<const std::byte>;

void read(Bytes bytes, std::size_t split) {
  swipr::importers::SwiprReader reader;
  reader.feed(bytes.first(split));
  reader.feed(bytes.subspan(split));
  const auto result = reader.finish();
  if (result) swipr::fuzz::check_recording(*result);
}

// Corrects the checksum of every block: otherwise every mutation would be rejected by it.
std::vector<std::byte> with_right_checksums(Bytes bytes) {
  constexpr std::size_t kCrcOffset = 12;
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  for (std::size_t at = swipr::wire::kFileHeaderBytes; at + kBlockHeaderBytes <= copy.size();) {
    const Bytes rest = Bytes(copy).subspan(at);
    const auto header = swipr::wire::decode_block_header(rest);
    if (!header || header->payload_bytes > rest.size() - kBlockHeaderBytes) {
      ++at;
      continue;
    }
    const std::uint32_t crc =
        swipr::wire::crc32(rest.subspan(kBlockHeaderBytes, header->payload_bytes));
    for (std::size_t byte = 0; byte < 4; ++byte) {
      copy[at + kCrcOffset + byte] = static_cast<std::byte>(crc >> (8 * byte));
    }
    at += kBlockHeaderBytes + header->payload_bytes;
  }
  return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  // A byte of the input decides where it is split.
  const std::size_t split = size == 0 ? 0 : data[size / 2] % size;
  read(bytes, split);
  read(with_right_checksums(bytes), split);
  return 0;
}
