#include "cli/commands/names/embed_names.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/host/text/hex.h"
#include "common/wire/encoder.h"
#include "common/wire/names.h"

namespace swipr::commands {

namespace {

using host::Result;
using profile::EmbeddedAddress;
using profile::EmbeddedNames;

// A new record is started at this size, so that one more address always fits into a block.
constexpr std::size_t kRecordBytes = std::size_t{128} << 10;
constexpr std::uint32_t kAnySource = 0;  // names belong to files, not to a process

// Collects addresses of one file for one record.
class NamesRecord {
 public:
  NamesRecord(const EmbeddedNames& names, std::uint32_t file) : names_(names), file_(file) {}

  bool is_full() const { return bytes_ > kRecordBytes; }
  bool empty() const { return addresses_.empty(); }

  void add(const EmbeddedAddress& address) {
    addresses_.push_back(&address);
    bytes_ += 16;
    for (const profile::EmbeddedFunction& function : functions_of(address)) {
      bytes_ += 32;
      for (const std::uint32_t text : {function.name, function.linkage_name, function.file}) {
        number(text);
      }
    }
  }

  // Returns nothing if the record does not fit into a block.
  std::span<const std::byte> encode(std::vector<std::byte>& buffer) const {
    std::vector<std::byte> build_id = host::from_hex(names_.files[file_].build_id);
    wire::Encoder out(buffer);
    wire::NamesEncoder record(out, names_.files[file_].path, build_id, texts_);
    for (const EmbeddedAddress* address : addresses_) {
      record.begin_address(address->file_offset, address->function_count);
      for (const profile::EmbeddedFunction& function : functions_of(*address)) {
        record.put({.name = numbers_.at(function.name),
                    .linkage_name = numbers_.at(function.linkage_name),
                    .file = numbers_.at(function.file),
                    .line = function.line,
                    .start_line = function.start_line,
                    .offset = function.offset,
                    .inlined = function.inlined});
      }
    }
    record.end();
    return out.overflowed() ? std::span<const std::byte>() : out.bytes();
  }

 private:
  std::span<const profile::EmbeddedFunction> functions_of(const EmbeddedAddress& address) const {
    return std::span(names_.functions).subspan(address.first_function, address.function_count);
  }

  void number(std::uint32_t text) {
    const std::string& value = names_.texts[text];
    const auto [entry, is_new] = numbers_.try_emplace(text, 0);
    if (!is_new || value.empty()) return;
    texts_.push_back(value);
    entry->second = texts_.size();
    bytes_ += value.size() + 4;
  }

  const EmbeddedNames& names_;
  std::uint32_t file_;
  std::size_t bytes_ = 0;
  std::vector<const EmbeddedAddress*> addresses_;
  std::vector<std::string_view> texts_;
  std::unordered_map<std::uint32_t, std::uint64_t> numbers_;  // index in this record
};

Result<void> write_files(const EmbeddedNames& names, session::RecordingFile& file) {
  std::map<std::uint32_t, std::map<std::uint64_t, const EmbeddedAddress*>> by_file;
  for (const EmbeddedAddress& address : names.addresses) {
    by_file[address.file].emplace(address.file_offset, &address);
  }
  std::vector<std::byte> buffer(wire::kMaxBlockPayloadBytes);
  for (const auto& [index, addresses] : by_file) {
    std::optional<NamesRecord> record(std::in_place, names, index);
    const auto flush = [&, index = index]() -> Result<void> {
      const auto bytes = record->encode(buffer);
      record.emplace(names, index);
      return bytes.empty() ? Result<void>() : file.write_block(kAnySource, bytes);
    };
    for (const auto& [offset, address] : addresses) {
      record->add(*address);
      if (!record->is_full()) continue;
      if (auto done = flush(); !done) return done;
    }
    if (record->empty()) continue;
    if (auto done = flush(); !done) return done;
  }
  return {};
}

Result<void> write_code(const EmbeddedNames& names, const profile::Recording& recording,
                        session::RecordingFile& file) {
  std::vector<std::byte> buffer(wire::kMaxBlockPayloadBytes);
  for (std::size_t index = 0; index < names.code.size();) {
    const std::uint32_t process = names.code[index].process;
    wire::Encoder out(buffer);
    for (; index < names.code.size() && names.code[index].process == process; ++index) {
      const profile::EmbeddedCode& code = names.code[index];
      std::vector<wire::CodeLine> lines;
      for (const auto& line : code.lines) lines.push_back({line.offset, line.line, line.file});
      const std::size_t before = out.size();
      wire::encode(out,
                   {.start = code.start,
                    .size_bytes = code.size_bytes,
                    .valid_from_ns = static_cast<std::uint64_t>(code.valid_from.count()),
                    .name = code.name},
                   lines);
      if (!out.overflowed()) continue;
      out.roll_back(before);
      if (before == 0) continue;  // too large for a block
      break;
    }
    if (out.size() == 0) continue;
    auto done = file.write_block(recording.processes[process].source, out.bytes());
    if (!done) return done;
  }
  return {};
}

}  // namespace

Result<void> write_names(const EmbeddedNames& names, const profile::Recording& recording,
                         session::RecordingFile& file) {
  auto done = write_files(names, file);
  return done ? write_code(names, recording, file) : done;
}

}  // namespace swipr::commands
