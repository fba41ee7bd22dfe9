#include "common/wire/decoder.h"

#include <algorithm>
#include <cstring>

namespace swipr::wire {

std::uint8_t Decoder::take_byte() noexcept {
  if (rest_.empty()) {
    ok_ = false;
    return 0;
  }
  const auto value = static_cast<std::uint8_t>(rest_.front());
  rest_ = rest_.subspan(1);
  return value;
}

std::uint16_t Decoder::take_u16() noexcept {
  const unsigned low = take_byte();
  const unsigned high = take_byte();
  return static_cast<std::uint16_t>(low | (high << 8));
}

std::uint32_t Decoder::take_u32() noexcept {
  const std::uint32_t low = take_u16();
  const std::uint32_t high = take_u16();
  return low | (high << 16);
}

std::uint64_t Decoder::take_varint() noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint64_t byte = take_byte();
    if (!ok_) return 0;
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  ok_ = false;
  return 0;
}

std::int64_t Decoder::take_signed() noexcept {
  const std::uint64_t value = take_varint();
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

std::span<const std::byte> Decoder::take_bytes(std::uint64_t size) noexcept {
  if (size > rest_.size()) {
    ok_ = false;
    return {};
  }
  const auto bytes = rest_.first(size);
  rest_ = rest_.subspan(size);
  return bytes;
}

std::span<const std::byte> Decoder::take_bytes() noexcept {
  const std::uint64_t size = take_varint();
  return ok_ ? take_bytes(size) : std::span<const std::byte>();
}

std::string_view Decoder::take_string() noexcept {
  const auto bytes = take_bytes();
  if (bytes.size() > kMaxStringBytes) ok_ = false;
  if (bytes.empty() || !ok_) return {};
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

HeaderStatus decode_file_header(std::span<const std::byte> bytes, std::uint16_t& version) noexcept {
  const std::size_t known = std::min(bytes.size(), kFileMagic.size());
  if (known != 0 && std::memcmp(bytes.data(), kFileMagic.data(), known) != 0) {
    return HeaderStatus::kNotSwipr;
  }
  if (bytes.size() < kFileHeaderBytes) return HeaderStatus::kIncomplete;
  Decoder in(bytes.subspan(kFileMagic.size()));
  version = in.take_u16();
  if (version == 0) return HeaderStatus::kNotSwipr;
  return version > kVersion ? HeaderStatus::kNewerVersion : HeaderStatus::kOk;
}

std::optional<BlockHeader> decode_block_header(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kBlockHeaderBytes) return std::nullopt;
  if (std::memcmp(bytes.data(), kBlockMagic.data(), kBlockMagic.size()) != 0) return std::nullopt;
  Decoder in(bytes.subspan(kBlockMagic.size()));
  BlockHeader header;
  header.source = in.take_u32();
  header.payload_bytes = in.take_u32();
  header.crc = in.take_u32();
  if (header.payload_bytes > kMaxBlockPayloadBytes) return std::nullopt;
  return header;
}

std::optional<RawRecord> take_record(std::span<const std::byte>& bytes) noexcept {
  Decoder in(bytes);
  RawRecord record;
  record.type = in.take_byte();
  record.payload = in.take_bytes();
  if (!in.ok()) return std::nullopt;
  bytes = in.rest();
  return record;
}

std::optional<SourceRecord> decode_source(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  SourceRecord record;
  record.pid = in.take_varint();
  record.parent_pid = in.take_varint();
  record.start_realtime_ns = in.take_varint();
  record.start_monotonic_ns = in.take_varint();
  record.interval_ns = in.take_varint();
  record.ticks_asked = in.take_varint();
  record.machine = in.take_varint();
  record.agent_version = in.take_string();
  record.command_name = in.take_string();
  record.executable = in.take_string();
  record.command_line = in.take_string();
  const std::uint64_t mode = in.at_end() ? 0 : in.take_varint();  // early writers had no modes
  if (mode < kRecordModeNames.size()) record.mode = static_cast<RecordMode>(mode);
  record.jitter = !in.at_end() && in.take_varint() == 1;
  return in.ok() ? std::optional(record) : std::nullopt;
}

std::optional<ModuleRecord> decode_module(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  ModuleRecord record;
  record.module_id = in.take_varint();
  record.start = in.take_varint();
  record.size_bytes = in.take_varint();
  record.file_offset = in.take_varint();
  record.load_bias = in.take_varint();
  record.build_id = in.take_bytes();
  record.path = in.take_string();
  const bool wraps = record.size_bytes > ~record.start;
  return in.ok() && !wraps ? std::optional(record) : std::nullopt;
}

std::optional<ModuleGoneRecord> decode_module_gone(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  ModuleGoneRecord record{in.take_varint()};
  return in.ok() ? std::optional(record) : std::nullopt;
}

std::optional<ThreadRecord> decode_thread(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  ThreadRecord record;
  record.thread_index = in.take_varint();
  record.tid = in.take_varint();
  record.start_ns = in.take_varint();
  record.name = in.take_string();
  return in.ok() ? std::optional(record) : std::nullopt;
}

std::optional<EndRecord> decode_end(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  EndRecord record;
  const std::uint64_t reason = in.take_varint();
  record.reason = reason <= 4 ? static_cast<EndReason>(reason) : EndReason::kFailed;
  record.duration_ns = in.take_varint();
  record.text = in.take_string();
  return in.ok() ? std::optional(record) : std::nullopt;
}

std::optional<MessageRecord> decode_message(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  MessageRecord record;
  record.level = static_cast<MessageLevel>(std::min<std::uint64_t>(in.take_varint(), 2));
  record.text = in.take_string();
  return in.ok() ? std::optional(record) : std::nullopt;
}

std::optional<DifferenceRecord> decode_difference(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  DifferenceRecord record;
  record.stack_id = in.take_varint();
  record.other_id = in.take_varint();
  record.count = in.take_varint();
  return in.ok() ? std::optional(record) : std::nullopt;
}

std::optional<StackRecord> decode_stack(std::span<const std::byte> payload,
                                        std::span<FrameEntry, kMaxFrames> frames) noexcept {
  Decoder in(payload);
  StackRecord record;
  record.stack_id = in.take_varint();
  record.flags = in.take_varint();
  record.wait_syscall = in.take_varint();
  if ((record.flags & kStackCut) != 0) record.omitted_at = in.take_varint();
  record.frame_count = in.take_varint();
  if (!in.ok() || record.frame_count > kMaxFrames || record.omitted_at > record.frame_count) {
    return std::nullopt;
  }
  for (std::uint64_t filled = 0; filled < record.frame_count;) {
    const std::uint64_t head = in.take_varint();
    const std::uint64_t run = head >> 3;
    if (!in.ok() || run == 0 || run > record.frame_count - filled) return std::nullopt;
    for (std::uint64_t end = filled + run; filled < end; ++filled) {
      frames[filled].source = static_cast<FrameSource>(head & 3);
      frames[filled].exact = (head & 4) != 0;
    }
  }
  std::uint64_t pc = 0;
  for (std::uint64_t index = 0; index < record.frame_count; ++index) {
    pc += static_cast<std::uint64_t>(in.take_signed());
    frames[index].pc = pc;
  }
  if (!in.at_end()) record.wait_channel = in.take_string();
  if (!in.at_end()) {
    record.runtime_wait = static_cast<RuntimeWait>(in.take_varint() & 0xff);
    record.holder_tid = in.take_varint();
    record.wait_object = in.take_string();
    if (!in.at_end()) record.lock = in.take_varint();
  }
  return in.ok() ? std::optional(record) : std::nullopt;
}

TickDecoder::TickDecoder(std::span<const std::byte> payload) noexcept
    : in_(payload), time_delta_ns_(in_.take_varint()) {}

bool TickDecoder::take(SampleEntry& entry, std::uint64_t& flags) noexcept {
  if (!in_.ok() || in_.at_end()) return false;
  const std::uint64_t head = in_.take_varint();
  flags = head & ((std::uint64_t{1} << kSampleHeadShift) - 1);
  thread_index_ += head >> kSampleHeadShift;
  entry = SampleEntry{};
  entry.thread_index = thread_index_;
  entry.state = static_cast<ThreadState>(flags & kSampleStateMask);
  if ((flags & kSampleSameStack) == 0) entry.stack_id = in_.take_varint();
  if ((flags & kSampleHasCpu) != 0) entry.cpu_ns = in_.take_varint();
  if ((flags & kSampleHasRunqueue) != 0) entry.runqueue_ns = in_.take_varint();
  if ((flags & kSampleHasWall) != 0) entry.wall_ns = in_.take_varint();
  if ((flags & kSampleHasTicks) != 0) entry.ticks = in_.take_varint();
  return in_.ok();
}

TotalsDecoder::TotalsDecoder(std::span<const std::byte> payload) noexcept
    : in_(payload), duration_ns_(in_.take_varint()) {}

bool TotalsDecoder::take(std::string_view& name, std::uint64_t& value) noexcept {
  if (!in_.ok() || in_.at_end()) return false;
  name = in_.take_string();
  value = in_.take_varint();
  return in_.ok();
}

}  // namespace swipr::wire
