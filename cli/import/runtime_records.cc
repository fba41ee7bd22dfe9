// Records about language runtimes: FUNCTION and RUNTIME.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "cli/import/source_records.h"
#include "common/host/text/runtime_text.h"
#include "common/wire/runtimes.h"

namespace swipr::importers {

bool SourceRecords::on_function(const wire::RawRecord& record) {
  const auto function = wire::decode_function(record.payload);
  if (!function) return false;
  constexpr std::uint64_t kMaxLine = std::numeric_limits<std::uint32_t>::max();
  profile::Function entry;
  entry.process = process();
  entry.language = function->language;
  if ((function->flags & wire::kFunctionNameLost) == 0) entry.name = function->name;
  entry.is_collector = (function->flags & wire::kFunctionCollector) != 0;
  entry.file = function->file;
  entry.start_line = static_cast<std::uint32_t>(std::min(function->start_line, kMaxLine));
  functions_[function->function] = builder_.add_function(std::move(entry));
  return true;
}

bool SourceRecords::on_runtime(const wire::RawRecord& record) {
  const auto runtime = wire::decode_runtime(record.payload);
  if (!runtime) return false;
  constexpr std::size_t kMost = 1024;  // of hostile files; a process has a few
  if (builder_.runtimes().size() >= kMost) return true;
  profile::Runtime entry;
  entry.process = process();
  entry.language = runtime->language;
  entry.version = runtime->version;
  if (runtime->state == wire::RuntimeState::kRefused) {
    entry.refusal =
        host::describe_refusal(language_name(entry.language), entry.version, runtime->reason);
    builder_.warn(fmt::format("{}: {}", label(), entry.refusal));
  }
  builder_.runtimes().push_back(std::move(entry));
  return true;
}

}  // namespace swipr::importers
