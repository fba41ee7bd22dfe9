// Reads the records of a source that contain function names.
#include <algorithm>
#include <limits>
#include <string>

#include "cli/import/source_records.h"
#include "common/host/text/hex.h"
#include "common/wire/names.h"

namespace swipr::importers {

namespace {

// Values above 32 bits come from damaged files and are clamped.
std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

std::chrono::nanoseconds time_of(std::uint64_t monotonic_ns) {
  constexpr auto kMaxTime = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(monotonic_ns, kMaxTime)));
}

}  // namespace

bool SourceRecords::on_names(const wire::RawRecord& record) {
  wire::NamesDecoder names(record.payload);
  profile::EmbeddedNames found;
  found.files.push_back({std::string(names.path()), host::to_hex(names.build_id())});
  std::string_view text;
  while (names.take_text(text)) found.texts.emplace_back(text);
  profile::EmbeddedAddress address;
  std::uint64_t count = 0;
  while (names.take_address(address.file_offset, count)) {
    address.first_function = narrow(found.functions.size());
    for (; count > 0; --count) {
      wire::FunctionEntry entry;
      if (!names.take_function(entry)) return false;
      found.functions.push_back({.name = narrow(entry.name),
                                 .linkage_name = narrow(entry.linkage_name),
                                 .file = narrow(entry.file),
                                 .line = narrow(entry.line),
                                 .start_line = narrow(entry.start_line),
                                 .offset = entry.offset,
                                 .inlined = entry.inlined});
    }
    address.function_count = narrow(found.functions.size()) - address.first_function;
    found.addresses.push_back(address);
  }
  if (!names.ok()) return false;
  profile::append(builder_.embedded(), std::move(found), 0);
  return true;
}

bool SourceRecords::on_code(const wire::RawRecord& record) {
  wire::CodeDecoder code(record.payload);
  profile::EmbeddedCode entry;
  entry.start = code.record().start;
  entry.size_bytes = code.record().size_bytes;
  entry.valid_from = time_of(code.record().valid_from_ns);
  entry.name = code.record().name;
  wire::CodeLine line;
  while (code.take(line)) {
    entry.lines.push_back({line.offset, narrow(line.line), std::string(line.file)});
  }
  entry.object = code.object();
  if (!code.ok()) return false;
  entry.process = process();
  builder_.embedded().code.push_back(std::move(entry));
  return true;
}

bool SourceRecords::on_code_gone(const wire::RawRecord& record) {
  const auto gone = wire::decode_code_gone(record.payload);
  if (!gone) return false;
  builder_.embedded().code_gone.push_back({process(), gone->object, time_of(gone->valid_until_ns)});
  return true;
}

}  // namespace swipr::importers
