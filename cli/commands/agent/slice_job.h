// What a worker makes files and requests of.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/commands/agent/targets.h"
#include "cli/fleet/cpu_ledger.h"
#include "cli/fleet/slice.h"
#include "cli/profile/recording/recording.h"
#include "cli/push/requests/store_url.h"

namespace swipr::commands {

// One process in one slice.
struct SliceTarget {
  TargetFacts facts;
  std::chrono::nanoseconds kernel{0};    // CPU time that the kernel charged
  std::chrono::nanoseconds recorded{0};  // of which stacks explain this
  fleet::CpuShares unrecorded;           // and these not
  std::string refusal;                   // why it was not recorded; empty: none
  bool has_ended = false;
};

struct SliceJob {
  const profile::Recording* whole = nullptr;
  std::vector<profile::Sample> samples;  // of the slice, in terms of `whole`
  fleet::Span span;
  std::vector<SliceTarget> targets;
  std::map<std::uint32_t, std::size_t> target_of_source;  // number of a stream → target
};

// A store and the folder of requests to it.
struct SliceStore {
  push::StoreUrl url;
  std::string spool_folder;
};

}  // namespace swipr::commands
