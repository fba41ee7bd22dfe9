#include "cli/live/figures.h"

namespace swipr::live {

namespace {
constexpr std::size_t kMaxTreeNodes = 400;
}  // namespace

Figures make_figures(profile::Recording& recording, const profile::Names& names,
                     profile::Weight weight, const profile::StateName& state_name) {
  profile::credit_cpu(recording);
  Figures figures;
  figures.weight = weight;
  figures.functions = profile::top_functions(recording, names, weight);
  figures.tree = profile::hot_paths(recording, names, weight, state_name, kMaxTreeNodes).nodes;
  for (const profile::ThreadTimes& times : profile::thread_times(recording)) {
    figures.cpu += times.cpu;
    figures.runqueue += times.runqueue;
    figures.samples += times.samples;
    if ((times.cpu + times.runqueue + times.blocked).count() == 0 && times.samples == 0) continue;
    const profile::Thread& thread = recording.threads[times.thread];
    figures.threads.push_back({thread.name, thread.tid, times});
  }
  figures.locks = profile::lock_owners(recording, names);
  return figures;
}

}  // namespace swipr::live
