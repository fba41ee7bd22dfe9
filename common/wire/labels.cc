#include "common/wire/labels.h"

#include "common/wire/decoder.h"

namespace swipr::wire {

void encode_labels(Encoder& out, std::uint64_t set, std::span<const LabelText> labels) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kLabels);
  out.put_varint(set);
  out.put_varint(labels.size());
  for (const LabelText& label : labels) {
    out.put_string(label.key);
    out.put_string(label.value);
  }
  out.end_record(mark);
}

std::optional<LabelsRecord> decode_labels(std::span<const std::byte> payload,
                                          std::span<LabelText, kMostLabels> labels) noexcept {
  Decoder in(payload);
  LabelsRecord record;
  record.set = in.take_varint();
  const std::uint64_t count = in.take_varint();
  if (record.set == 0 || count > labels.size()) return std::nullopt;
  for (; record.count < count && in.ok(); ++record.count) {
    labels[record.count] = {in.take_string(), in.take_string()};
  }
  return in.ok() ? std::optional(record) : std::nullopt;
}

void encode(Encoder& out, const StackLabelsRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kStackLabels);
  out.put_varint(record.stack_id);
  out.put_varint(record.set);
  out.end_record(mark);
}

std::optional<StackLabelsRecord> decode_stack_labels(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  StackLabelsRecord record;
  record.stack_id = in.take_varint();
  record.set = in.take_varint();
  const bool possible = record.stack_id != 0 && record.set != 0;
  return in.ok() && possible ? std::optional(record) : std::nullopt;
}

}  // namespace swipr::wire
