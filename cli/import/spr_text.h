// Reads the text format of Swift Profile Recorder: lines of the form "[SWIPR] TAG {json}".
// Other lines, unknown tags and unknown keys are skipped. The format has no CPU times: the wall
// time of a sample is the interval, and its state is unknown. Segments have no file offset
// either (see Module::has_file_offset).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::importers {

inline constexpr std::string_view kSprMarker = "[SWIPR] ";  // starts each line of the format

class SprTextReader {
 public:
  SprTextReader();
  ~SprTextReader();
  SprTextReader(SprTextReader&&) noexcept;
  SprTextReader& operator=(SprTextReader&&) noexcept;

  void feed(std::span<const std::byte> bytes);

  // Call once, at the end of the input.
  // Errors: no line of the format, another version, a MESG line with "exit".
  host::Result<profile::Recording> finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace swipr::importers
