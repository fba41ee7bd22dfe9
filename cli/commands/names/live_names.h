// Names of a recording that is followed: new frames are named in batches by a thread of its own.
// Between two batches is nine times as long as the last one took, so that names take a tenth of a
// CPU: each batch opens the files of all its modules. 1 s at most.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include "cli/commands/names/symbolize_recording.h"
#include "cli/options/options.h"
#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::commands {

class LiveNames {
 public:
  explicit LiveNames(options::SymbolOptions options) : options_(std::move(options)) {}

  // Takes the names that are ready, and has frames named that are new. What has no name yet is
  // "[…]".  Lifetime: until the next update().  Blocks: never, unless `waits`.
  const profile::Names& update(const profile::Recording& recording, bool waits);
  bool is_named(std::uint32_t frame) const { return frame < named_; }
  bool is_complete() const { return !job_.valid() && named_ == names_.frames.size(); }

 private:
  void start(const profile::Recording& recording);
  void take();

  options::SymbolOptions options_;
  profile::Names names_;
  std::size_t named_ = 0;  // frames
  struct Batch {
    NamedRecording named;
    std::chrono::nanoseconds took{0};
  };
  std::future<Batch> job_;
  std::chrono::steady_clock::time_point next_batch_{};
  std::vector<std::shared_ptr<const void>> texts_;
};

}  // namespace swipr::commands
