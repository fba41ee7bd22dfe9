#include "common/wire/runtimes.h"

#include "common/wire/decoder.h"

namespace swipr::wire {

namespace {

// kNative: the value is none.
Language take_language(Decoder& in) noexcept {
  const std::uint64_t value = in.take_varint();
  return value <= 0xff ? static_cast<Language>(value) : Language::kNative;
}

}  // namespace

void encode(Encoder& out, const FunctionRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kFunction);
  out.put_varint(record.function);
  out.put_varint(static_cast<std::uint64_t>(record.language));
  out.put_string(record.name);
  out.put_string(record.file);
  out.put_varint(record.start_line);
  out.put_varint(record.flags);
  out.end_record(mark);
}

std::optional<FunctionRecord> decode_function(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  FunctionRecord record;
  record.function = in.take_varint();
  record.language = take_language(in);
  record.name = in.take_string();
  record.file = in.take_string();
  record.start_line = in.take_varint();
  record.flags = in.take_varint();
  const bool possible = record.function != 0 && record.function <= kMaxRuntimeFunction &&
                        record.language != Language::kNative;
  return in.ok() && possible ? std::optional(record) : std::nullopt;
}

void encode(Encoder& out, const RuntimeRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kRuntime);
  out.put_varint(static_cast<std::uint64_t>(record.language));
  out.put_string(record.version);
  out.put_varint(static_cast<std::uint64_t>(record.state));
  out.put_string(record.reason);
  out.put_varint(record.module_id);
  out.end_record(mark);
}

std::optional<RuntimeRecord> decode_runtime(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  RuntimeRecord record;
  record.language = take_language(in);
  record.version = in.take_string();
  record.state = in.take_varint() == 0 ? RuntimeState::kRead : RuntimeState::kRefused;
  record.reason = in.take_string();
  record.module_id = in.take_varint();
  const bool possible = record.language != Language::kNative;
  return in.ok() && possible ? std::optional(record) : std::nullopt;
}

}  // namespace swipr::wire
