// The first line of a .col file: "# " and a JSON object.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cli/export/formats/export.h"
#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::exporters {

// `application_metadata`: a JSON array, whose first element is null; "cpu" or "wall" as the mode.
// The indexer of gProfiler's Performance Studio requires all fields of the metadata, none of them
// null. MAC and IP address are not told.
std::string format_col_header(const profile::Recording& recording, const Options& options,
                              std::string_view application_metadata, std::string_view mode);

// The object "static" of a JSON file, for Options::metadata.  Errors: there is none.
host::Result<std::string> static_metadata(std::string_view text);

// "2026-11-23T16:34:11"
std::string iso_time(std::chrono::nanoseconds since_epoch);

}  // namespace swipr::exporters
