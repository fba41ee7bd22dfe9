// The records about traced functions and their calls: any bytes as a block, in one piece or as
// records of these types.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/trace/latency_records.h"
#include "cli/trace/slow_text.h"
#include "common/wire/encoder.h"
#include "common/wire/format.h"

namespace {

using swipr::tracing::LatencyRecords;

// Parameters of all kinds, each with a string in each place.
swipr::symbolize::Signature make_signature() {
  using swipr::symbolize::ValueKind;
  swipr::symbolize::Signature signature;
  for (int number = -1; number < 8; ++number) {
    swipr::symbolize::Value value;
    value.kind = static_cast<ValueKind>(number + 1);
    value.bits = static_cast<std::uint8_t>(1 << (number & 7));
    value.bit_offset = number > 3 ? 64 : 0;
    value.registers = {static_cast<std::int8_t>(number), static_cast<std::int8_t>(number - 1)};
    value.string = swipr::symbolize::StringPlace::kAddress;
    value.members = signature.parameters;
    signature.result = value;
    signature.parameters.push_back(value);
  }
  return signature;
}

void read(std::span<const std::byte> block) {
  LatencyRecords records(3);
  records.apply(block);
  for (const auto& call : records.take_slow_calls()) {
    swipr::tracing::NamedSlowCall named;
    named.thread = records.thread_name(call.record.tid);
    named.record = call.record;
    named.argument_count = named.record.arguments.size();
    named.callers.resize(call.callers.size());
    swipr::tracing::format_slow_call(named, true);
    static const swipr::symbolize::Signature signature = make_signature();
    named.signature = &signature;
    swipr::tracing::format_slow_call(named, false);
  }
  for (const auto& probe : records.probes()) {
    const swipr::tracing::SlowSummary summary{"f", "p95", &probe};
    swipr::tracing::format_slow_summary({&summary, 1});
  }
}

// A record of the type with these bytes.
std::vector<std::byte> as_record(swipr::wire::RecordType type, std::span<const std::byte> bytes) {
  std::vector<std::byte> room(bytes.size() + 32);
  swipr::wire::Encoder out(room);
  const std::size_t mark = out.begin_record(type);
  for (const std::byte byte : bytes) out.put_byte(static_cast<std::uint8_t>(byte));
  out.end_record(mark);
  return {out.bytes().begin(), out.bytes().end()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using swipr::wire::RecordType;
  const auto bytes = std::as_bytes(std::span(data, size));
  read(bytes);
  for (const RecordType type : {RecordType::kProbe, RecordType::kLatency, RecordType::kSlowCall,
                                RecordType::kProbeCounts, RecordType::kCallThread}) {
    read(as_record(type, bytes));
  }
  return 0;
}
