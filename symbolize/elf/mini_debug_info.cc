#include "symbolize/elf/mini_debug_info.h"

#include <lzma.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace swipr::symbolize {
namespace {

constexpr std::size_t kMaxImageBytes = std::size_t{256} << 20;
constexpr std::uint64_t kMaxDecoderBytes = std::uint64_t{64} << 20;
constexpr std::size_t kFirstBytes = std::size_t{64} << 10;

// Empty: damaged or too large.
std::vector<char> decompress(std::string_view bytes) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxDecoderBytes, 0) != LZMA_OK) return {};
  stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  std::vector<char> image;
  lzma_ret status = LZMA_OK;
  while (status == LZMA_OK && image.size() < kMaxImageBytes) {
    const std::size_t done = image.size();
    image.resize(std::max(kFirstBytes, done * 2));
    stream.next_out = reinterpret_cast<std::uint8_t*>(image.data() + done);
    stream.avail_out = image.size() - done;
    status = lzma_code(&stream, LZMA_FINISH);
  }
  image.resize(status == LZMA_STREAM_END ? static_cast<std::size_t>(stream.total_out) : 0);
  lzma_end(&stream);
  return image;
}

}  // namespace

std::optional<ElfFile> find_mini_debug_info(const ElfFile& image) {
  const std::string_view section = image.section(".gnu_debugdata").bytes;
  if (section.empty()) return std::nullopt;
  std::vector<char> bytes = decompress(section);
  if (bytes.empty()) return std::nullopt;
  auto file = ElfFile::from_memory(std::move(bytes));
  if (!file) return std::nullopt;
  return std::move(*file);
}

}  // namespace swipr::symbolize
