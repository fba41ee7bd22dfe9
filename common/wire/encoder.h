// Writes records into a caller's span. Everything that does not fit sets overflowed() and leaves
// the bytes written before it intact, so a caller can roll back to a mark. Context: anywhere,
// signal handlers included.  Allocates: never.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "common/wire/crc32.h"
#include "common/wire/format.h"

namespace swipr::wire {

class Encoder {
 public:
  explicit Encoder(std::span<std::byte> out) noexcept : out_(out) {}

  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return out_.size(); }
  bool overflowed() const noexcept { return overflowed_; }
  std::span<const std::byte> bytes() const noexcept { return out_.first(size_); }
  // Forgets what was written after `size`, and an overflow.
  void roll_back(std::size_t size) noexcept {
    size_ = size;
    overflowed_ = false;
  }

  void put_byte(std::uint8_t value) noexcept {
    if (size_ == out_.size()) {
      overflowed_ = true;
      return;
    }
    out_[size_++] = static_cast<std::byte>(value);
  }
  void put_u32(std::uint32_t value) noexcept {
    for (int shift = 0; shift < 32; shift += 8) put_byte(static_cast<std::uint8_t>(value >> shift));
  }
  // Unsigned LEB128 (DWARF 5, 7.6).
  void put_varint(std::uint64_t value) noexcept {
    while (value >= 0x80) {
      put_byte(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    put_byte(static_cast<std::uint8_t>(value));
  }
  void put_signed(std::int64_t value) noexcept {
    put_varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void put_bytes(std::span<const std::byte> bytes) noexcept {
    put_varint(bytes.size());
    if (bytes.size() > out_.size() - size_) {
      overflowed_ = true;
      return;
    }
    if (!bytes.empty()) std::memcpy(out_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void put_string(std::string_view text) noexcept {
    put_bytes(std::as_bytes(std::span(text.data(), std::min(text.size(), kMaxStringBytes))));
  }

  // Opens a record; returns the mark for end_record.
  std::size_t begin_record(RecordType type) noexcept {
    put_byte(static_cast<std::uint8_t>(type));
    const std::size_t mark = size_;
    put_byte(0);  // the length's first byte; end_record makes room for the others
    return mark;
  }
  void end_record(std::size_t mark) noexcept {
    if (overflowed_) return;
    const std::size_t length = size_ - mark - 1;
    std::size_t length_bytes = 1;
    for (std::size_t rest = length; rest >= 0x80; rest >>= 7) ++length_bytes;
    if (length_bytes - 1 > out_.size() - size_) {
      overflowed_ = true;
      return;
    }
    std::memmove(out_.data() + mark + length_bytes, out_.data() + mark + 1, length);
    const std::size_t end = size_ + length_bytes - 1;
    size_ = mark;
    put_varint(length);
    size_ = end;
  }

 private:
  std::span<std::byte> out_;
  std::size_t size_ = 0;
  bool overflowed_ = false;
};

void encode_file_header(Encoder& out) noexcept;
// Header of a block that holds `payload`.
void encode_block_header(Encoder& out, std::uint32_t source,
                         std::span<const std::byte> payload) noexcept;

void encode(Encoder& out, const SourceRecord& record) noexcept;
void encode(Encoder& out, const ModuleRecord& record) noexcept;
void encode(Encoder& out, const ModuleGoneRecord& record) noexcept;
void encode(Encoder& out, const ThreadRecord& record) noexcept;
void encode(Encoder& out, const EndRecord& record) noexcept;
void encode(Encoder& out, const MessageRecord& record) noexcept;
void encode(Encoder& out, const DifferenceRecord& record) noexcept;
// `frames` innermost first, at most kMaxFrames; record.frame_count is taken from it.
void encode(Encoder& out, const StackRecord& record, std::span<const FrameEntry> frames) noexcept;

// A tick: begin, any number of samples in ascending thread order, end. `time_delta_ns` counts from
// the source's previous tick record (the first: from the source's start).
class TickEncoder {
 public:
  TickEncoder(Encoder& out, std::uint64_t time_delta_ns) noexcept;
  // `same_stack`: as this thread's previous entry in the stream. `implied_wall`: wall_ns is exactly
  // the time from the thread's previous entry to this tick.
  void put(const SampleEntry& sample, bool same_stack, bool implied_wall) noexcept;
  void end() noexcept { out_.end_record(mark_); }

 private:
  Encoder& out_;
  std::size_t mark_;
  std::uint64_t previous_thread_ = 0;
};

// Totals: begin, any number of counters, end.
class TotalsEncoder {
 public:
  TotalsEncoder(Encoder& out, std::uint64_t duration_ns) noexcept;
  void put(std::string_view name, std::uint64_t value) noexcept {
    out_.put_string(name);
    out_.put_varint(value);
  }
  void end() noexcept { out_.end_record(mark_); }

 private:
  Encoder& out_;
  std::size_t mark_;
};

}  // namespace swipr::wire
