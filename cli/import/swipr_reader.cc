#include "cli/import/swipr_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/import/recording_builder.h"
#include "cli/import/source_records.h"
#include "common/host/text/count_text.h"
#include "common/wire/crc32.h"
#include "common/wire/decoder.h"

namespace swipr::importers {

namespace {
using Bytes = std::span<const std::byte>;

// After this many bytes of damaged blocks have been checksummed, damaged blocks are no longer
// searched for inner blocks. Without this limit, a file that consists of block headers takes
// quadratic time.
constexpr std::size_t kMaxSearchedBytes = std::size_t{64} << 20;
}  // namespace

class SwiprReader::Impl {
 public:
  void feed(Bytes bytes) {
    if (error_) return;
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    input_bytes_ += bytes.size();
    process(false);
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(position_));
    position_ = 0;
  }

  bool failed() const { return error_.has_value(); }
  profile::Recording& so_far() { return builder_.so_far(); }

  host::Result<profile::Recording> finish() {
    if (error_) return *error_;
    if (input_bytes_ == 0) return host::Error("the input is empty, not a recording");
    process(true);
    if (!header_seen_) {
      return host::Error(fmt::format("not a recording: only {} bytes", input_bytes_));
    }
    for (auto& [index, source] : sources_) source.finish();
    if (sources_.empty()) builder_.warn("the recording contains no data");
    if (skipped_bytes_ != 0) {
      builder_.warn(fmt::format("the recording is damaged: {} bytes in {} were skipped",
                                skipped_bytes_, host::counted(damaged_places_, "place")));
    }
    if (bad_records_ != 0) {
      builder_.warn(
          fmt::format("{} could not be read: skipped", host::counted(bad_records_, "record")));
    }
    if (cut_off_) builder_.warn("the recording is truncated; it is used as far as possible");
    return builder_.take();
  }

 private:
  Bytes rest() const { return Bytes(buffer_).subspan(position_); }

  // Consumes all complete blocks of the buffer, or the whole buffer if `is_end`.
  void process(bool is_end) {
    while (!rest().empty() && (is_end ? step_at_end() : step())) {
    }
  }

  // Reads one block at position_. Returns false if more bytes are needed or on an error.
  bool step() {
    if (!header_seen_) return take_file_header();
    const Bytes bytes = rest();
    if (bytes.size() < wire::kBlockHeaderBytes) return false;
    const auto header = wire::decode_block_header(bytes);
    if (!header) return take_appended_header() || skip_damage(1);
    const std::size_t block_bytes = wire::kBlockHeaderBytes + header->payload_bytes;
    if (bytes.size() < block_bytes) return false;
    const Bytes payload = bytes.subspan(wire::kBlockHeaderBytes, header->payload_bytes);
    if (wire::crc32(payload) != header->crc) {
      // The length may be wrong, so the next block is searched inside this one.
      searched_bytes_ += block_bytes;
      return skip_damage(searched_bytes_ < kMaxSearchedBytes ? 1 : block_bytes);
    }
    in_damage_ = false;
    apply_block(header->source, payload);
    position_ += block_bytes;
    return true;
  }

  bool step_at_end() {
    if (step()) return true;
    if (error_ || !header_seen_) return false;
    // An incomplete block means truncation, unless a valid block follows, which shows that
    // the length is wrong.
    if (const std::size_t next = find_good_block(1); next != rest().size())
      return skip_damage(next);
    cut_off_ = true;
    const auto header = wire::decode_block_header(rest());
    if (header) apply_block(header->source, rest().subspan(wire::kBlockHeaderBytes));
    position_ = buffer_.size();
    return false;
  }

  bool take_file_header() {
    std::uint16_t version = 0;
    switch (wire::decode_file_header(rest(), version)) {
      case wire::HeaderStatus::kOk:
        position_ += wire::kFileHeaderBytes;
        return header_seen_ = true;
      case wire::HeaderStatus::kIncomplete:
        return false;
      case wire::HeaderStatus::kNotSwipr:
        error_ = host::Error("not a recording (neither .swipr nor Swift Profile Recorder text)");
        return false;
      case wire::HeaderStatus::kNewerVersion:
        error_ = host::Error(fmt::format(
            "made by a newer version of swipr (format {}; this swipr reads {}): update swipr",
            version, wire::kVersion));
        return false;
    }
    return false;
  }

  // A file header between blocks: recordings were concatenated (cat a b).
  bool take_appended_header() {
    std::uint16_t version = 0;
    if (wire::decode_file_header(rest(), version) != wire::HeaderStatus::kOk) return false;
    position_ += wire::kFileHeaderBytes;
    for (auto& [index, source] : sources_) source.finish();
    sources_.clear();
    return true;
  }

  // Skips at least `bytes`, then up to the next magic of a block or file.
  bool skip_damage(std::size_t bytes) {
    const std::size_t begin = position_;
    position_ = std::min(position_ + bytes, buffer_.size());
    position_ += find_magic(rest());
    skipped_bytes_ += position_ - begin;
    if (!in_damage_) {
      ++damaged_places_;
      for (auto& [index, source] : sources_) source.on_loss();
    }
    in_damage_ = true;
    return true;
  }

  // Distance to the next possible block or file header. A prefix at the end of the buffer
  // counts. The search runs in windows, so that neither search repeatedly scans far beyond a
  // match of the other.
  static std::size_t find_magic(Bytes bytes) {
    constexpr std::size_t kWindowBytes = 4096;
    for (std::size_t begin = 0; begin < bytes.size(); begin += kWindowBytes) {
      const std::size_t end = std::min(begin + kWindowBytes, bytes.size());
      const std::size_t found = std::min(find_magic(bytes, begin, end, wire::kBlockMagic),
                                         find_magic(bytes, begin, end, wire::kFileMagic));
      if (found != end) return found;
    }
    return bytes.size();
  }

  // Returns the first match in [begin, end), or `end`. Uses memchr, which is ten times as fast
  // as a comparison at each byte: a file can end with a GiB of zeros.
  static std::size_t find_magic(Bytes bytes, std::size_t begin, std::size_t end,
                                std::span<const unsigned char> magic) {
    for (; begin < end; ++begin) {
      const void* first = std::memchr(bytes.data() + begin, magic.front(), end - begin);
      if (first == nullptr) return end;
      begin = static_cast<std::size_t>(static_cast<const std::byte*>(first) - bytes.data());
      const Bytes at = bytes.subspan(begin);
      if (std::memcmp(at.data(), magic.data(), std::min(at.size(), magic.size())) == 0)
        return begin;
    }
    return end;
  }

  // Distance to the next whole block with the right checksum, from `distance` on; all: none.
  std::size_t find_good_block(std::size_t distance) {
    const Bytes bytes = rest();
    for (; distance < bytes.size(); ++distance) {
      distance += find_magic(bytes.subspan(distance));
      const Bytes at = bytes.subspan(distance);
      const auto header = wire::decode_block_header(at);
      if (!header || header->payload_bytes > at.size() - wire::kBlockHeaderBytes) continue;
      searched_bytes_ += header->payload_bytes;
      if (searched_bytes_ > kMaxSearchedBytes) break;
      const Bytes payload = at.subspan(wire::kBlockHeaderBytes, header->payload_bytes);
      if (wire::crc32(payload) == header->crc) return distance;
    }
    return bytes.size();
  }

  void apply_block(std::uint32_t index, Bytes payload) {
    SourceRecords& source = sources_.try_emplace(index, builder_, frames_, index).first->second;
    while (const auto record = wire::take_record(payload)) {
      if (!source.apply(*record)) ++bad_records_;
    }
  }

  std::vector<std::byte> buffer_;
  std::size_t position_ = 0;  // of the first byte of buffer_ that is not consumed
  std::size_t input_bytes_ = 0;
  RecordingBuilder builder_;
  SourceRecords::FrameBuffer frames_;
  std::map<std::uint32_t, SourceRecords> sources_;
  std::optional<host::Error> error_;
  bool header_seen_ = false;
  bool in_damage_ = false;
  bool cut_off_ = false;
  std::uint64_t skipped_bytes_ = 0;
  std::uint64_t damaged_places_ = 0;
  std::uint64_t bad_records_ = 0;
  std::size_t searched_bytes_ = 0;
};

SwiprReader::SwiprReader() : impl_(std::make_unique<Impl>()) {}
SwiprReader::~SwiprReader() = default;
SwiprReader::SwiprReader(SwiprReader&&) noexcept = default;
SwiprReader& SwiprReader::operator=(SwiprReader&&) noexcept = default;
void SwiprReader::feed(std::span<const std::byte> bytes) { impl_->feed(bytes); }
bool SwiprReader::failed() const { return impl_->failed(); }
profile::Recording& SwiprReader::so_far() { return impl_->so_far(); }
host::Result<profile::Recording> SwiprReader::finish() { return impl_->finish(); }

}  // namespace swipr::importers
