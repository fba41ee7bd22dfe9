// Records that store names in a recording: NAMES, CODE and CODE_GONE.
// Context: anywhere.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/wire/decoder.h"
#include "common/wire/encoder.h"
#include "common/wire/format.h"

namespace swipr::wire {

// The whole of: texts, then for each address begin_address() and its functions, innermost inlined
// one first, then end().
class NamesEncoder {
 public:
  NamesEncoder(Encoder& out, std::string_view path, std::span<const std::byte> build_id,
               std::span<const std::string_view> texts) noexcept;
  // `file_offset` ascends.
  void begin_address(std::uint64_t file_offset, std::uint64_t function_count) noexcept;
  void put(const FunctionEntry& function) noexcept;
  void end() noexcept { out_.end_record(mark_); }

 private:
  Encoder& out_;
  std::size_t mark_;
  std::uint64_t previous_offset_ = 0;
};

// `while (names.take_text(text))`, then `while (names.take_address(…))` with take_function() as
// often as it says, then ok(). Lifetime: texts point into the payload.
class NamesDecoder {
 public:
  explicit NamesDecoder(std::span<const std::byte> payload) noexcept;
  std::string_view path() const noexcept { return path_; }
  std::span<const std::byte> build_id() const noexcept { return build_id_; }
  bool take_text(std::string_view& text) noexcept;
  bool take_address(std::uint64_t& file_offset, std::uint64_t& function_count) noexcept;
  // Returns false if the record is damaged or refers to a missing text.
  bool take_function(FunctionEntry& function) noexcept;
  bool ok() const noexcept { return in_.ok(); }

 private:
  Decoder in_;
  std::string_view path_;
  std::span<const std::byte> build_id_;
  std::uint64_t text_count_ = 0;
  std::uint64_t texts_left_ = 0;
  std::uint64_t file_offset_ = 0;
};

void encode(Encoder& out, const CodeRecord& record, std::span<const CodeLine> lines) noexcept;
void encode(Encoder& out, const CodeGoneRecord& record) noexcept;
std::optional<CodeGoneRecord> decode_code_gone(std::span<const std::byte> payload) noexcept;

void encode(Encoder& out, const UserRecord& record) noexcept;
std::optional<UserRecord> decode_user(std::span<const std::byte> payload) noexcept;

// record(), then `while (code.take(line))`, then object(), then ok().
class CodeDecoder {
 public:
  explicit CodeDecoder(std::span<const std::byte> payload) noexcept;
  const CodeRecord& record() const noexcept { return record_; }
  bool take(CodeLine& line) noexcept;
  // Call after all lines.
  std::uint64_t object() noexcept;
  bool ok() const noexcept { return in_.ok(); }

 private:
  Decoder in_;
  CodeRecord record_;
  std::uint64_t lines_left_ = 0;
};

}  // namespace swipr::wire
