// Reads the raw format (docs/RAW_FORMAT.md) from chunks of bytes, so that files, pipes and sockets
// work alike. Keeps at most one block of raw bytes besides the growing Recording. A damaged block
// is skipped and reading goes on at the next good one; a cut-off end is used up to the last whole
// record. Both are warnings of the Recording, not errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/profile/recording/recording.h"
#include "common/host/result.h"

namespace swipr::importers {

class SwiprReader {
 public:
  SwiprReader();
  ~SwiprReader();
  SwiprReader(SwiprReader&&) noexcept;
  SwiprReader& operator=(SwiprReader&&) noexcept;

  void feed(std::span<const std::byte> bytes);

  // True when the bytes so far cannot be a recording that this version reads: stop feeding.
  bool failed() const;

  // The recording as far as it has been read, for readers that follow it: they may move its samples
  // out, and put others into their place. Indexes stay valid.  Lifetime: until the next feed().
  profile::Recording& so_far();

  // Call once, at the end of the input.
  // Errors: empty input, not a recording, made by a newer version.
  host::Result<profile::Recording> finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace swipr::importers
