#include "cli/export/text/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace swipr::exporters {

namespace {

// `put` receives pieces; false: enough.
template <typename Put>
host::Result<void> compress(std::string_view bytes, Put put) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window; 16 selects the gzip header (zlib.h)
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return host::Error("cannot compress: out of memory");
  }
  std::array<char, 64 * 1024> out;
  int status = Z_OK;
  bool wanted = true;
  while (status != Z_STREAM_END && wanted) {
    if (stream.avail_in == 0 && !bytes.empty()) {
      const std::size_t part =
          std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      // zlib's interface lacks const; it does not write to its input.
      stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(part);
      bytes.remove_prefix(part);
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    wanted = put(std::string_view(out.data(), out.size() - stream.avail_out));
  }
  deflateEnd(&stream);
  return {};
}

}  // namespace

host::Result<void> write_gzip(std::string_view bytes, Sink& sink) {
  return compress(bytes, [&sink](std::string_view piece) {
    sink.write(piece);
    return !sink.failed();
  });
}

host::Result<std::string> gzip_bytes(std::string_view bytes) {
  std::string compressed;
  auto done = compress(bytes, [&compressed](std::string_view piece) {
    compressed += piece;
    return true;
  });
  if (!done) return done.error();
  return compressed;
}

}  // namespace swipr::exporters
