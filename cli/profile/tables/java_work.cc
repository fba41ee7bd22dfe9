#include "cli/profile/tables/java_work.h"

#include <algorithm>
#include <array>
#include <vector>

namespace swipr::profile {

namespace {

struct KnownName {
  std::string_view begin;
  JavaWork work;
};
constexpr std::array kNames = {KnownName{"GC Thread#", JavaWork::kCollector},
                               KnownName{"G1 ", JavaWork::kCollector},
                               KnownName{"ZDirector", JavaWork::kCollector},
                               KnownName{"ZDriver", JavaWork::kCollector},
                               KnownName{"ZStat", JavaWork::kCollector},
                               KnownName{"ZUncommitter", JavaWork::kCollector},
                               KnownName{"ZUnmapper", JavaWork::kCollector},
                               KnownName{"ZWorker", JavaWork::kCollector},
                               KnownName{"RuntimeWorker#", JavaWork::kCollector},
                               KnownName{"Shenandoah", JavaWork::kCollector},
                               KnownName{"C1 CompilerThre", JavaWork::kCompiler},
                               KnownName{"C2 CompilerThre", JavaWork::kCompiler},
                               KnownName{"JVMCI", JavaWork::kCompiler},
                               KnownName{"Sweeper thread", JavaWork::kMachine},
                               KnownName{"VM Thread", JavaWork::kMachine},
                               KnownName{"VM Periodic Tas", JavaWork::kMachine},
                               KnownName{"Monitor Deflati", JavaWork::kMachine}};

}  // namespace

JavaWork java_work_of(std::string_view thread_name) {
  const auto* const found = std::find_if(
      kNames.begin(), kNames.end(),
      [thread_name](const KnownName& known) { return thread_name.starts_with(known.begin); });
  return found == kNames.end() ? JavaWork::kProgram : found->work;
}

JavaTimes java_times(const Recording& recording) {
  std::vector<bool> has_java(recording.processes.size());
  for (const Runtime& runtime : recording.runtimes) {
    if (runtime.language != Language::kJava || !runtime.refusal.empty()) continue;
    has_java[runtime.process] = true;
  }
  JavaTimes times;
  for (const Sample& sample : recording.samples) {
    const Thread& thread = recording.threads[sample.thread];
    if (!has_java[thread.process]) continue;
    times.all += sample.cpu;
    switch (java_work_of(thread.name)) {
      case JavaWork::kProgram:
        break;
      case JavaWork::kCollector:
        times.collectors += sample.cpu;
        break;
      case JavaWork::kCompiler:
        times.compilers += sample.cpu;
        break;
      case JavaWork::kMachine:
        times.machine += sample.cpu;
        break;
    }
  }
  return times;
}

}  // namespace swipr::profile
