#include "cli/import/read_recording.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/import/spr_text.h"
#include "cli/import/swipr_reader.h"
#include "common/wire/format.h"

namespace swipr::importers {

namespace {
constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
// Output of the recorded program may precede the first line of the text format.
constexpr std::size_t kMaxLeadingBytes = std::size_t{1} << 20;

using Bytes = std::span<const std::byte>;

// Buffers the start of the input until the format is known.
class AnyReader {
 public:
  // Returns false if the input cannot be a recording.
  bool feed(Bytes bytes) {
    if (swipr_) {
      swipr_->feed(bytes);
      return !swipr_->failed();
    }
    if (text_) {
      text_->feed(bytes);
      return true;
    }
    beginning_.insert(beginning_.end(), bytes.begin(), bytes.end());
    return choose();
  }

  host::Result<profile::Recording> finish() {
    if (text_) return text_->finish();
    if (swipr_) return swipr_->finish();
    if (beginning_.empty()) return host::Error("the input is empty, not a recording");
    return host::Error(what_it_is());
  }

 private:
  bool choose() {
    const auto first = static_cast<unsigned char>(beginning_.front());
    if (first == wire::kFileMagic[0]) {
      swipr_.emplace();
      swipr_->feed(beginning_);
      return !swipr_->failed();
    }
    const std::string_view text(reinterpret_cast<const char*>(beginning_.data()),
                                beginning_.size());
    if (text.starts_with(kSprMarker) || text.find("\n" + std::string(kSprMarker)) != text.npos) {
      text_.emplace();
      text_->feed(beginning_);
      return true;
    }
    return beginning_.size() < kMaxLeadingBytes && !is_gzip();
  }

  bool is_gzip() const {
    return beginning_.size() >= 2 && beginning_[0] == std::byte{0x1F} &&
           beginning_[1] == std::byte{0x8B};
  }

  std::string what_it_is() const {
    if (is_gzip()) return "not a recording: a gzip file (pprof output cannot be converted again)";
    return "not a recording (neither .swipr nor Swift Profile Recorder text)";
  }

  std::vector<std::byte> beginning_;
  std::optional<SwiprReader> swipr_;
  std::optional<SprTextReader> text_;
};
}  // namespace

host::Result<profile::Recording> read_recording(int fd, std::string_view name) {
  AnyReader reader;
  std::vector<std::byte> chunk(kChunkBytes);
  for (;;) {
    const ssize_t size = read(fd, chunk.data(), chunk.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return host::system_error("cannot read " + std::string(name), errno);
    if (size == 0) break;
    if (!reader.feed(Bytes(chunk).first(static_cast<std::size_t>(size)))) break;
  }
  auto result = reader.finish();
  if (!result) return result.error().with_context(name);
  return result;
}

}  // namespace swipr::importers
