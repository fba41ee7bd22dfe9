#include "common/wire/encoder.h"

namespace swipr::wire {

namespace {
void put_magic(Encoder& out, std::span<const unsigned char> magic) noexcept {
  for (unsigned char byte : magic) out.put_byte(byte);
}
}  // namespace

void encode_file_header(Encoder& out) noexcept {
  put_magic(out, kFileMagic);
  out.put_u32(kVersion);  // u16 version and u16 zero
  out.put_u32(0);
}

void encode_block_header(Encoder& out, std::uint32_t source,
                         std::span<const std::byte> payload) noexcept {
  put_magic(out, kBlockMagic);
  out.put_u32(source);
  out.put_u32(static_cast<std::uint32_t>(payload.size()));
  out.put_u32(crc32(payload));
}

void encode(Encoder& out, const SourceRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kSource);
  out.put_varint(record.pid);
  out.put_varint(record.parent_pid);
  out.put_varint(record.start_realtime_ns);
  out.put_varint(record.start_monotonic_ns);
  out.put_varint(record.interval_ns);
  out.put_varint(record.ticks_asked);
  out.put_varint(record.machine);
  out.put_string(record.agent_version);
  out.put_string(record.command_name);
  out.put_string(record.executable);
  out.put_string(record.command_line);
  out.put_varint(static_cast<std::uint64_t>(record.mode));
  out.put_varint(record.jitter ? 1 : 0);
  out.end_record(mark);
}

void encode(Encoder& out, const ModuleRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kModule);
  out.put_varint(record.module_id);
  out.put_varint(record.start);
  out.put_varint(record.size_bytes);
  out.put_varint(record.file_offset);
  out.put_varint(record.load_bias);
  out.put_bytes(record.build_id);
  out.put_string(record.path);
  out.end_record(mark);
}

void encode(Encoder& out, const ModuleGoneRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kModuleGone);
  out.put_varint(record.module_id);
  out.end_record(mark);
}

void encode(Encoder& out, const ThreadRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kThread);
  out.put_varint(record.thread_index);
  out.put_varint(record.tid);
  out.put_varint(record.start_ns);
  out.put_string(record.name);
  out.end_record(mark);
}

void encode(Encoder& out, const EndRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kEnd);
  out.put_varint(static_cast<std::uint64_t>(record.reason));
  out.put_varint(record.duration_ns);
  out.put_string(record.text);
  out.end_record(mark);
}

void encode(Encoder& out, const MessageRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kMessage);
  out.put_varint(static_cast<std::uint64_t>(record.level));
  out.put_string(record.text);
  out.end_record(mark);
}

void encode(Encoder& out, const DifferenceRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kDifference);
  out.put_varint(record.stack_id);
  out.put_varint(record.other_id);
  out.put_varint(record.count);
  out.end_record(mark);
}

void encode(Encoder& out, const StackRecord& record, std::span<const FrameEntry> frames) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kStack);
  out.put_varint(record.stack_id);
  out.put_varint(record.flags);
  out.put_varint(record.wait_syscall);
  if ((record.flags & kStackCut) != 0) out.put_varint(record.omitted_at);
  out.put_varint(frames.size());
  // Runs of frames found in the same way: run length << 3 | exact << 2 | source.
  for (std::size_t begin = 0; begin < frames.size();) {
    std::size_t end = begin + 1;
    while (end < frames.size() && frames[end].source == frames[begin].source &&
           frames[end].exact == frames[begin].exact) {
      ++end;
    }
    out.put_varint((std::uint64_t{end - begin} << 3) | (frames[begin].exact ? 4u : 0u) |
                   static_cast<std::uint64_t>(frames[begin].source));
    begin = end;
  }
  std::uint64_t previous = 0;
  for (const FrameEntry& frame : frames) {
    out.put_signed(static_cast<std::int64_t>(frame.pc - previous));
    previous = frame.pc;
  }
  const bool waits_for_runtime = record.runtime_wait != RuntimeWait::kNone;
  if (waits_for_runtime || !record.wait_channel.empty()) out.put_string(record.wait_channel);
  if (waits_for_runtime) {
    out.put_varint(static_cast<std::uint64_t>(record.runtime_wait));
    out.put_varint(record.holder_tid);
    out.put_string(record.wait_object);
    if (record.lock) out.put_varint(*record.lock);
  }
  out.end_record(mark);
}

TickEncoder::TickEncoder(Encoder& out, std::uint64_t time_delta_ns) noexcept
    : out_(out), mark_(out.begin_record(RecordType::kTick)) {
  out_.put_varint(time_delta_ns);
}

void TickEncoder::put(const SampleEntry& sample, bool same_stack, bool implied_wall) noexcept {
  std::uint64_t flags = static_cast<std::uint64_t>(sample.state);
  if (same_stack) flags |= kSampleSameStack;
  if (sample.cpu_ns != 0) flags |= kSampleHasCpu;
  if (sample.runqueue_ns != 0) flags |= kSampleHasRunqueue;
  if (!implied_wall) flags |= kSampleHasWall;
  if (sample.ticks != 1) flags |= kSampleHasTicks;
  out_.put_varint(((sample.thread_index - previous_thread_) << kSampleHeadShift) | flags);
  previous_thread_ = sample.thread_index;
  if (!same_stack) out_.put_varint(sample.stack_id);
  if (sample.cpu_ns != 0) out_.put_varint(sample.cpu_ns);
  const bool rest = sample.runqueue_ns == sample.wall_ns - sample.cpu_ns;
  if (sample.runqueue_ns != 0) out_.put_varint(rest ? 0 : sample.runqueue_ns);
  if (!implied_wall) out_.put_varint(sample.wall_ns);
  if (sample.ticks != 1) out_.put_varint(sample.ticks);
}

TotalsEncoder::TotalsEncoder(Encoder& out, std::uint64_t duration_ns) noexcept
    : out_(out), mark_(out.begin_record(RecordType::kTotals)) {
  out_.put_varint(duration_ns);
}

}  // namespace swipr::wire
