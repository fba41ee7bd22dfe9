#include "common/wire/slow_calls.h"

#include "common/wire/traced_calls.h"

namespace swipr::wire {

namespace {

constexpr std::size_t kValueCount = kMostArguments + 1;
constexpr std::size_t kLineBytes = kValueCount + 1;  // with its end

bool take_string(Decoder& in, SlowString& out) noexcept {
  out.value = in.take_varint();
  out.size = in.take_varint();
  const std::string_view text = in.take_string();
  if (!in.ok() || out.value >= kValueCount || text.size() > out.bytes.size()) return false;
  out.count = text.size();
  text.copy(out.bytes.data(), text.size());
  return out.count <= out.size;
}

}  // namespace

bool read_strings(std::string_view text, std::size_t line, std::uint64_t& out) noexcept {
  out = 0;
  std::size_t count = 0;
  if (line >= text.size() / kLineBytes) return false;
  for (std::size_t value = 0; value < kValueCount; ++value) {
    const auto kind = static_cast<std::uint64_t>(text[line * kLineBytes + value] - '0');
    const bool is_pair = kind == 2 || kind == 3;
    if (kind > 5 || (is_pair && value + 1 >= kMostArguments)) return false;
    if (kind != 0) ++count;
    out |= kind << 8 * value;
  }
  return count <= kMostStrings;
}

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
  out.put_varint(record.string_count);
  for (const SlowString& string : std::span(record.strings).first(record.string_count)) {
    out.put_varint(string.value);
    out.put_varint(string.size);
    out.put_string(string.text());
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
  if (!in.at_end()) record.string_count = in.take_varint();  // older libraries write none
  if (record.string_count > kMostStrings) return std::nullopt;
  for (SlowString& string : std::span(record.strings).first(record.string_count)) {
    if (!take_string(in, string)) return std::nullopt;
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
