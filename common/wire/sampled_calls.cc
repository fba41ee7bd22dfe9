#include "common/wire/sampled_calls.h"

namespace swipr::wire {

namespace {

void put(Encoder& out, const OpenCall& call) noexcept {
  out.put_varint(call.probe);
  out.put_varint(call.place);
  out.put_varint(call.start_ns);
}

bool take(Decoder& in, OpenCall& call) noexcept {
  call.probe = in.take_varint();
  call.place = in.take_varint();
  call.start_ns = in.take_varint();
  return in.ok() && call.probe < kMostProbes;
}

}  // namespace

void encode(Encoder& out, const StackCallsRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kStackCalls);
  out.put_varint(record.stack_id);
  out.put_varint(record.base_id);
  out.put_varint(record.call_count);
  for (std::size_t at = 0; at < record.call_count; ++at) put(out, record.calls[at]);
  out.end_record(mark);
}

std::optional<StackCallsRecord> decode_stack_calls(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  StackCallsRecord record;
  record.stack_id = in.take_varint();
  record.base_id = in.take_varint();
  const std::uint64_t count = in.take_varint();
  if (!in.ok() || record.stack_id == 0 || record.base_id == 0 || count > kMostOpenCalls) {
    return std::nullopt;
  }
  record.call_count = static_cast<std::size_t>(count);
  for (std::size_t at = 0; at < record.call_count; ++at) {
    if (!take(in, record.calls[at])) return std::nullopt;
  }
  return record;
}

void encode(Encoder& out, const CallEndRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kCallEnd);
  put(out, record.call);
  out.put_varint(record.duration_ns);
  out.put_varint(record.flags);
  out.end_record(mark);
}

std::optional<CallEndRecord> decode_call_end(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  CallEndRecord record;
  if (!take(in, record.call)) return std::nullopt;
  record.duration_ns = in.take_varint();
  record.flags = in.take_varint();
  return in.ok() ? std::optional(record) : std::nullopt;
}

}  // namespace swipr::wire
