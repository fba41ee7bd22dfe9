// What language runtimes do for themselves: they collect garbage and compile. Known by the
// functions of the runtime in the stack (V8, HotSpot and Go have symbols or names in all
// distributions, PHP's collector is exported; CRuby's functions need debug symbols), by frames that
// say so (Python), and by the names that HotSpot gives its threads (src/hotspot/share/gc, runtime;
// 8 to 27), of which the kernel keeps 15 bytes. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/profile/recording/names.h"
#include "cli/profile/recording/recording.h"

namespace swipr::profile {

enum class MachineWork : std::uint8_t { kProgram, kCollector, kCompiler, kMachine };

// "garbage collection", "compiler", "virtual machine"; kProgram: "".
std::string_view machine_work_name(MachineWork work);

// Of a thread of a process with Java. kMachine: safepoints.
MachineWork java_work_of(std::string_view thread_name);

// Of a native function of the runtime; kNative: of Go. kProgram: not known to do anything of these.
MachineWork work_of_function(Language language, std::string_view function);

// Of samples. Both arguments must outlive it.
class MachineWorkFinder {
 public:
  MachineWorkFinder(const Recording& recording, const Names& names);

  MachineWork of(const Sample& sample) { return of(sample.thread, sample.stack); }
  // Of all samples of a thread with that stack; kNone: without one.
  MachineWork of(std::uint32_t thread, std::uint32_t stack);
  // The runtime of the process whose frames are read, the first of several; kNative: none.
  Language language_of(std::uint32_t process) const { return languages_[process]; }

 private:
  MachineWork of_stack(std::uint32_t stack, Language language) const;
  // Nothing: the frame does not tell.
  std::optional<MachineWork> of_frame(std::uint32_t frame, Language language) const;
  bool collects(const Stack& stack) const;

  const Recording& recording_;
  const Names& names_;
  std::vector<Language> languages_;                 // by process
  std::vector<std::optional<MachineWork>> stacks_;  // what is known of them
};

// CPU time in processes with that runtime.
struct MachineTimes {
  Language language = Language::kNative;
  std::chrono::nanoseconds all{0};
  std::chrono::nanoseconds collectors{0};
  std::chrono::nanoseconds compilers{0};
  std::chrono::nanoseconds machine{0};
};
// Of each language whose runtime used time for itself.
std::vector<MachineTimes> machine_times(const Recording& recording, const Names& names);

// The weight of all samples in which a runtime collects garbage.
std::uint64_t collector_weight(const Recording& recording, const Names& names, Weight weight);

}  // namespace swipr::profile
