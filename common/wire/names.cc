#include "common/wire/names.h"

namespace swipr::wire {

NamesEncoder::NamesEncoder(Encoder& out, std::string_view path, std::span<const std::byte> build_id,
                           std::span<const std::string_view> texts) noexcept
    : out_(out), mark_(out.begin_record(RecordType::kNames)) {
  out_.put_string(path);
  out_.put_bytes(build_id);
  out_.put_varint(texts.size());
  for (const std::string_view text : texts) out_.put_string(text);
}

void NamesEncoder::begin_address(std::uint64_t file_offset, std::uint64_t function_count) noexcept {
  out_.put_varint(file_offset - previous_offset_);
  previous_offset_ = file_offset;
  out_.put_varint(function_count);
}

void NamesEncoder::put(const FunctionEntry& function) noexcept {
  out_.put_varint(function.inlined ? 1 : 0);
  out_.put_varint(function.name);
  out_.put_varint(function.linkage_name);
  out_.put_varint(function.file);
  out_.put_varint(function.line);
  out_.put_varint(function.start_line);
  out_.put_varint(function.offset);
}

NamesDecoder::NamesDecoder(std::span<const std::byte> payload) noexcept
    : in_(payload),
      path_(in_.take_string()),
      build_id_(in_.take_bytes()),
      text_count_(in_.take_varint()),
      texts_left_(text_count_) {}

bool NamesDecoder::take_text(std::string_view& text) noexcept {
  if (!in_.ok() || texts_left_ == 0) return false;
  --texts_left_;
  text = in_.take_string();
  return in_.ok();
}

bool NamesDecoder::take_address(std::uint64_t& file_offset,
                                std::uint64_t& function_count) noexcept {
  if (!in_.ok() || in_.at_end()) return false;
  file_offset_ += in_.take_varint();
  file_offset = file_offset_;
  function_count = in_.take_varint();
  return in_.ok();
}

bool NamesDecoder::take_function(FunctionEntry& function) noexcept {
  function.inlined = (in_.take_varint() & 1) != 0;
  function.name = in_.take_varint();
  function.linkage_name = in_.take_varint();
  function.file = in_.take_varint();
  function.line = in_.take_varint();
  function.start_line = in_.take_varint();
  function.offset = in_.take_varint();
  return in_.ok() && function.name <= text_count_ && function.linkage_name <= text_count_ &&
         function.file <= text_count_;
}

void encode(Encoder& out, const CodeRecord& record, std::span<const CodeLine> lines) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kCode);
  out.put_varint(record.start);
  out.put_varint(record.size_bytes);
  out.put_varint(record.valid_from_ns);
  out.put_string(record.name);
  out.put_varint(lines.size());
  for (const CodeLine& line : lines) {
    out.put_varint(line.offset);
    out.put_varint(line.line);
    out.put_string(line.file);
  }
  out.put_varint(record.object);
  out.end_record(mark);
}

void encode(Encoder& out, const CodeGoneRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kCodeGone);
  out.put_varint(record.object);
  out.put_varint(record.valid_until_ns);
  out.end_record(mark);
}

std::optional<CodeGoneRecord> decode_code_gone(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  CodeGoneRecord record;
  record.object = in.take_varint();
  record.valid_until_ns = in.take_varint();
  return in.ok() ? std::optional(record) : std::nullopt;
}

void encode(Encoder& out, const UserRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kUser);
  out.put_varint(record.user);
  out.end_record(mark);
}

std::optional<UserRecord> decode_user(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  const UserRecord record{in.take_varint()};
  return in.ok() ? std::optional(record) : std::nullopt;
}

CodeDecoder::CodeDecoder(std::span<const std::byte> payload) noexcept : in_(payload) {
  record_.start = in_.take_varint();
  record_.size_bytes = in_.take_varint();
  record_.valid_from_ns = in_.take_varint();
  record_.name = in_.take_string();
  lines_left_ = in_.take_varint();
}

bool CodeDecoder::take(CodeLine& line) noexcept {
  if (!in_.ok() || lines_left_ == 0) return false;
  --lines_left_;
  line.offset = in_.take_varint();
  line.line = in_.take_varint();
  line.file = in_.take_string();
  return in_.ok();
}

// Early writers knew none.
std::uint64_t CodeDecoder::object() noexcept {
  return !in_.ok() || in_.at_end() ? 0 : in_.take_varint();
}

}  // namespace swipr::wire
