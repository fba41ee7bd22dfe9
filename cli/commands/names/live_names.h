// Names of a recording that is followed: new frames are named in batches by a thread of its own.
// They take a tenth of a CPU, because each batch opens the files of all its modules: after a batch
// is a pause of nine times as long, but of 1 s at most, and none as long as the pauses of the last
// 10 s were longer than that. So what is new after a while has names at once.
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
  std::size_t named_ = 0;     // frames
  std::size_t searched_ = 0;  // stacks, for locks
  LockPlaces locks_;          // that no batch has had
  struct Batch {
    NamedRecording named;
    std::chrono::nanoseconds took{0};
  };
  std::future<Batch> job_;
  std::chrono::steady_clock::time_point next_batch_{};
  std::vector<std::shared_ptr<const void>> texts_;
};

}  // namespace swipr::commands
