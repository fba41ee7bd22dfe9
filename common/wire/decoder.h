// Reads records from bytes in memory. Every function bounds what it reads by the payload; a payload
// that ends early or holds an impossible value yields nullopt. Bytes behind the known fields of a
// payload are ignored: a later version may append fields.
// Context: anywhere.  Allocates: never.  Lifetime: strings and spans point into the payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/wire/format.h"

namespace swipr::wire {

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return rest_.empty(); }
  std::span<const std::byte> rest() const noexcept { return rest_; }

  // Each returns 0 or empty and clears ok() when the bytes run out or a varint exceeds 64 bits.
  std::uint8_t take_byte() noexcept;
  std::uint16_t take_u16() noexcept;
  std::uint32_t take_u32() noexcept;
  std::uint64_t take_varint() noexcept;
  std::int64_t take_signed() noexcept;
  std::span<const std::byte> take_bytes() noexcept;
  std::span<const std::byte> take_bytes(std::uint64_t size) noexcept;
  std::string_view take_string() noexcept;

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

enum class HeaderStatus : std::uint8_t { kOk, kIncomplete, kNotSwipr, kNewerVersion };
// `version` is set for kOk and kNewerVersion.
HeaderStatus decode_file_header(std::span<const std::byte> bytes, std::uint16_t& version) noexcept;

struct BlockHeader {
  std::uint32_t source = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t crc = 0;
};
// The first kBlockHeaderBytes of `bytes`; nullopt: too few, wrong magic or too large a payload.
std::optional<BlockHeader> decode_block_header(std::span<const std::byte> bytes) noexcept;

struct RawRecord {
  std::uint8_t type = 0;  // RecordType or one this version does not know
  std::span<const std::byte> payload;
};
// The next record of a block's payload; nullopt at its end or, with `bytes` not empty, where it is
// cut or damaged. `bytes` advances past the record.
std::optional<RawRecord> take_record(std::span<const std::byte>& bytes) noexcept;

std::optional<SourceRecord> decode_source(std::span<const std::byte> payload) noexcept;
std::optional<ModuleRecord> decode_module(std::span<const std::byte> payload) noexcept;
std::optional<ModuleGoneRecord> decode_module_gone(std::span<const std::byte> payload) noexcept;
std::optional<ThreadRecord> decode_thread(std::span<const std::byte> payload) noexcept;
std::optional<EndRecord> decode_end(std::span<const std::byte> payload) noexcept;
std::optional<MessageRecord> decode_message(std::span<const std::byte> payload) noexcept;
std::optional<DifferenceRecord> decode_difference(std::span<const std::byte> payload) noexcept;
// `frames` needs room for kMaxFrames; the first record.frame_count are filled, innermost first.
std::optional<StackRecord> decode_stack(std::span<const std::byte> payload,
                                        std::span<FrameEntry, kMaxFrames> frames) noexcept;

// Iterates over a tick's entries: `while (tick.take(entry, flags))`, then ok(). The fields that the
// flags say are implied (stack_id with kSampleSameStack, wall_ns without kSampleHasWall, and then
// perhaps runqueue_ns: runqueue_ns_of) are left 0.
class TickDecoder {
 public:
  explicit TickDecoder(std::span<const std::byte> payload) noexcept;
  std::uint64_t time_delta_ns() const noexcept { return time_delta_ns_; }
  bool take(SampleEntry& entry, std::uint64_t& flags) noexcept;
  bool ok() const noexcept { return in_.ok(); }

 private:
  Decoder in_;
  std::uint64_t time_delta_ns_;
  std::uint64_t thread_index_ = 0;
};

// Iterates over counters in the same way.
class TotalsDecoder {
 public:
  explicit TotalsDecoder(std::span<const std::byte> payload) noexcept;
  std::uint64_t duration_ns() const noexcept { return duration_ns_; }
  bool take(std::string_view& name, std::uint64_t& value) noexcept;
  bool ok() const noexcept { return in_.ok(); }

 private:
  Decoder in_;
  std::uint64_t duration_ns_;
};

}  // namespace swipr::wire
