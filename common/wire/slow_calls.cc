#include "common/wire/slow_calls.h"

#include "common/wire/traced_calls.h"

namespace swipr::wire {

void encode(Encoder& out, const SlowCallRecord& record,
            std::span<const std::uint64_t> return_addresses) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kSlowCall);
  out.put_varint(record.probe);
  out.put_varint(record.tid);
  out.put_varint(record.flags);
  out.put_varint(record.begin_ns);
  out.put_varint(record.duration_ns);
  out.put_varint(record.number);
  out.put_varint(record.result);
  if ((record.flags & kSlowHasArguments) != 0) {
    for (const std::uint64_t argument : record.arguments) out.put_varint(argument);
  }
  out.put_varint(return_addresses.size());
  std::uint64_t before = 0;
  for (const std::uint64_t address : return_addresses) {
    out.put_signed(static_cast<std::int64_t>(address - before));
    before = address;
  }
  out.end_record(mark);
}

std::optional<SlowCallRecord> decode_slow_call(std::span<const std::byte> payload,
                                               std::span<std::uint64_t> return_addresses,
                                               std::size_t& count) noexcept {
  Decoder in(payload);
  SlowCallRecord record;
  record.probe = in.take_varint();
  record.tid = in.take_varint();
  record.flags = in.take_varint();
  record.begin_ns = in.take_varint();
  record.duration_ns = in.take_varint();
  record.number = in.take_varint();
  record.result = in.take_varint();
  if ((record.flags & kSlowHasArguments) != 0) {
    for (std::uint64_t& argument : record.arguments) argument = in.take_varint();
  }
  const std::uint64_t frames = in.take_varint();
  const bool possible = record.probe < kMostProbes && frames <= kMostSlowFrames &&
                        frames <= return_addresses.size() && record.duration_ns <= ~record.begin_ns;
  if (!in.ok() || !possible) return std::nullopt;
  std::uint64_t before = 0;
  for (count = 0; count < frames; ++count) {
    before += static_cast<std::uint64_t>(in.take_signed());
    return_addresses[count] = before;
  }
  return in.ok() ? std::optional(record) : std::nullopt;
}

void encode(Encoder& out, const ProbeCountsRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kProbeCounts);
  out.put_varint(record.probe);
  out.put_varint(record.threshold_ns);
  out.put_varint(record.slow);
  out.put_varint(record.slow_ns);
  out.put_varint(record.lost);
  out.put_varint(record.elsewhere);
  out.end_record(mark);
}

std::optional<ProbeCountsRecord> decode_probe_counts(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  ProbeCountsRecord record;
  record.probe = in.take_varint();
  record.threshold_ns = in.take_varint();
  record.slow = in.take_varint();
  record.slow_ns = in.take_varint();
  record.lost = in.take_varint();
  record.elsewhere = in.take_varint();
  return in.ok() && record.probe < kMostProbes ? std::optional(record) : std::nullopt;
}

void encode(Encoder& out, const CallThreadRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kCallThread);
  out.put_varint(record.tid);
  out.put_string(record.name);
  out.end_record(mark);
}

std::optional<CallThreadRecord> decode_call_thread(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  CallThreadRecord record;
  record.tid = in.take_varint();
  record.name = in.take_string();
  return in.ok() ? std::optional(record) : std::nullopt;
}

}  // namespace swipr::wire
