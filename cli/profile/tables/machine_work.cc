#include "cli/profile/tables/machine_work.h"

#include <algorithm>
#include <array>

#include "cli/profile/recording/runtime_languages.h"

namespace swipr::profile {

namespace {

struct KnownThread {
  std::string_view begin;
  MachineWork work;
};
constexpr std::array kThreads = {KnownThread{"GC Thread#", MachineWork::kCollector},
                                 KnownThread{"GC task thread#", MachineWork::kCollector},  // 8
                                 KnownThread{"Gang worker#", MachineWork::kCollector},     // 8
                                 KnownThread{"Concurrent Mark", MachineWork::kCollector},  // 8
                                 KnownThread{"CMS ", MachineWork::kCollector},             // 11
                                 KnownThread{"G1 ", MachineWork::kCollector},
                                 KnownThread{"ZDirector", MachineWork::kCollector},
                                 KnownThread{"ZDriver", MachineWork::kCollector},
                                 KnownThread{"ZStat", MachineWork::kCollector},
                                 KnownThread{"ZUncommitter", MachineWork::kCollector},
                                 KnownThread{"ZUnmapper", MachineWork::kCollector},
                                 KnownThread{"ZWorker", MachineWork::kCollector},
                                 KnownThread{"RuntimeWorker#", MachineWork::kCollector},
                                 KnownThread{"Shenandoah", MachineWork::kCollector},
                                 KnownThread{"C1 CompilerThre", MachineWork::kCompiler},
                                 KnownThread{"C2 CompilerThre", MachineWork::kCompiler},
                                 KnownThread{"JVMCI", MachineWork::kCompiler},
                                 KnownThread{"Sweeper thread", MachineWork::kMachine},
                                 KnownThread{"VM Thread", MachineWork::kMachine},
                                 KnownThread{"VM Periodic Tas", MachineWork::kMachine},
                                 KnownThread{"Monitor Deflati", MachineWork::kMachine}};

// `part`: of the qualified name, with its end unless it ends a class or namespace.
struct KnownFunction {
  Language language;
  std::string_view part;
  MachineWork work;
};
constexpr std::array kFunctions = {
    KnownFunction{Language::kNative, "runtime.gcBgMarkWorker", MachineWork::kCollector},
    KnownFunction{Language::kNative, "runtime.gcAssistAlloc", MachineWork::kCollector},
    KnownFunction{Language::kNative, "runtime.gcStart", MachineWork::kCollector},
    KnownFunction{Language::kNative, "runtime.gcMarkTermination", MachineWork::kCollector},
    KnownFunction{Language::kNative, "runtime.bgsweep", MachineWork::kCollector},
    KnownFunction{Language::kNative, "runtime.bgscavenge", MachineWork::kCollector},
    // Operations of the VM thread, where the serial collector works.
    KnownFunction{Language::kJava, "VM_SerialGCCollect::", MachineWork::kCollector},
    KnownFunction{Language::kJava, "VM_SerialCollectForAllocation::", MachineWork::kCollector},
    KnownFunction{Language::kJava, "VM_GenCollect", MachineWork::kCollector},
    KnownFunction{Language::kJava, "VM_ParallelGC", MachineWork::kCollector},
    KnownFunction{Language::kJava, "VM_ParallelCollect", MachineWork::kCollector},
    KnownFunction{Language::kJava, "VM_G1", MachineWork::kCollector},
    KnownFunction{Language::kJava, "VM_CMS_", MachineWork::kCollector},
    KnownFunction{Language::kJava, "VM_CollectFor", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript, "v8::internal::Heap::CollectGarbage",
                  MachineWork::kCollector},
    KnownFunction{Language::kJavaScript, "v8::internal::Heap::PerformGarbageCollection",
                  MachineWork::kCollector},
    KnownFunction{Language::kJavaScript, "v8::internal::Heap::HandleGCRequest",
                  MachineWork::kCollector},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::ScavengerCollector::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::MarkCompactCollector::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::MinorMarkSweepCollector::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::ConcurrentMarking::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript, "v8::internal::IncrementalMarking",
                  MachineWork::kCollector},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::PageEvacuationJob::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::PointersUpdatingJob::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript, "v8::internal::Sweeper::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::ArrayBufferSweeper::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript, "cppgc::internal::", MachineWork::kCollector},
    KnownFunction{Language::kJavaScript, "v8::internal::OptimizingCompile", MachineWork::kCompiler},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::OptimizedCompilationJob::", MachineWork::kCompiler},
    KnownFunction{Language::kJavaScript, "v8::internal::Compiler::", MachineWork::kCompiler},
    KnownFunction{Language::kJavaScript, "v8::internal::compiler::", MachineWork::kCompiler},
    KnownFunction{Language::kJavaScript, "v8::internal::baseline::", MachineWork::kCompiler},
    KnownFunction{Language::kJavaScript, "v8::internal::maglev::", MachineWork::kCompiler},
    KnownFunction{Language::kJavaScript,
                  "v8::internal::LazyCompileDispatcher::", MachineWork::kCompiler},
    KnownFunction{Language::kRuby, "gc_start", MachineWork::kCollector},
    KnownFunction{Language::kRuby, "gc_marks", MachineWork::kCollector},
    KnownFunction{Language::kRuby, "gc_sweep_", MachineWork::kCollector},
    KnownFunction{Language::kRuby, "gc_continue", MachineWork::kCollector},
    KnownFunction{Language::kRuby, "garbage_collect", MachineWork::kCollector},
    KnownFunction{Language::kPhp, "zend_gc_collect_cycles", MachineWork::kCollector},
    KnownFunction{Language::kPhp, "zend_gc_run", MachineWork::kCollector},
    KnownFunction{Language::kPhp, "compile_file", MachineWork::kCompiler},
    KnownFunction{Language::kPhp, "compile_string", MachineWork::kCompiler},
    KnownFunction{Language::kPhp, "zendparse", MachineWork::kCompiler},
    KnownFunction{Language::kPhp, "zend_compile_", MachineWork::kCompiler},
    KnownFunction{Language::kPhp, "zend_optimize_script", MachineWork::kCompiler},
    KnownFunction{Language::kPerl, "Perl_yyparse", MachineWork::kCompiler}};

bool is_part_of_word(char value) {
  return value == '_' || value == ':' || (value >= '0' && value <= '9') ||
         (value >= 'a' && value <= 'z') || (value >= 'A' && value <= 'Z');
}

// Not within another word, and not among the arguments.
bool has_part(std::string_view function, std::string_view part) {
  const std::string_view name = function.substr(0, function.find('('));
  const std::size_t at = name.find(part);
  return at != name.npos && (at == 0 || !is_part_of_word(name[at - 1]));
}

}  // namespace

std::string_view machine_work_name(MachineWork work) {
  constexpr std::array<std::string_view, 4> kNames = {"", "garbage collection", "compiler",
                                                      "virtual machine"};
  return kNames[static_cast<std::size_t>(work)];
}

MachineWork java_work_of(std::string_view thread_name) {
  const auto* const found = std::find_if(
      kThreads.begin(), kThreads.end(),
      [thread_name](const KnownThread& known) { return thread_name.starts_with(known.begin); });
  return found == kThreads.end() ? MachineWork::kProgram : found->work;
}

MachineWork work_of_function(Language language, std::string_view function) {
  const auto* const found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const KnownFunction& known) {
        return known.language == language && has_part(function, known.part);
      });
  return found == kFunctions.end() ? MachineWork::kProgram : found->work;
}

MachineWorkFinder::MachineWorkFinder(const Recording& recording, const Names& names)
    : recording_(recording),
      names_(names),
      languages_(runtime_languages(recording, RuntimeFrames::kRead)),
      stacks_(recording.stacks.size()) {}

MachineWork MachineWorkFinder::of(std::uint32_t thread, std::uint32_t stack) {
  const Language language = languages_[recording_.threads[thread].process];
  MachineWork work = MachineWork::kProgram;
  if (stack != kNone) {
    std::optional<MachineWork>& known = stacks_[stack];
    if (!known) known = of_stack(stack, language);
    work = *known;
  }
  if (work == MachineWork::kProgram && language == Language::kJava) {
    return java_work_of(recording_.threads[thread].name);
  }
  return work;
}

MachineWork MachineWorkFinder::of_stack(std::uint32_t stack, Language language) const {
  if (collects(recording_.stacks[stack])) return MachineWork::kCollector;
  for (const std::uint32_t frame : recording_.stacks[stack].frames) {
    if (const auto work = of_frame(frame, language)) return *work;
  }
  return MachineWork::kProgram;
}

std::optional<MachineWork> MachineWorkFinder::of_frame(std::uint32_t frame,
                                                       Language language) const {
  for (const NamedFrame& named : names_.frames[frame]) {
    if (!is_native(named))
      return MachineWork::kProgram;  // a finalizer, or what compiled code calls
    const MachineWork work = work_of_function(language, named.function);
    if (work != MachineWork::kProgram) return work;
  }
  return std::nullopt;
}

// A frame says so: also what the collector calls, finalizers included.
bool MachineWorkFinder::collects(const Stack& stack) const {
  return std::any_of(stack.frames.begin(), stack.frames.end(), [this](std::uint32_t frame) {
    const std::uint32_t function = recording_.frames[frame].function;
    return function != kNone && recording_.functions[function].is_collector;
  });
}

std::vector<MachineTimes> machine_times(const Recording& recording, const Names& names) {
  MachineWorkFinder finder(recording, names);
  std::array<MachineTimes, kLanguageNames.size()> sums;
  for (const Sample& sample : recording.samples) {
    const Language language = finder.language_of(recording.threads[sample.thread].process);
    MachineTimes& times = sums[static_cast<std::size_t>(language)];
    times.language = language;
    times.all += sample.cpu;
    const MachineWork work = finder.of(sample);
    if (work == MachineWork::kCollector) times.collectors += sample.cpu;
    if (work == MachineWork::kCompiler) times.compilers += sample.cpu;
    if (work == MachineWork::kMachine) times.machine += sample.cpu;
  }
  std::vector<MachineTimes> result;
  for (const MachineTimes& times : sums) {
    if (times.language == Language::kNative) continue;
    if ((times.collectors + times.compilers + times.machine).count() != 0) result.push_back(times);
  }
  return result;
}

std::uint64_t collector_weight(const Recording& recording, const Names& names, Weight weight) {
  MachineWorkFinder finder(recording, names);
  std::uint64_t sum = 0;
  for (const Sample& sample : recording.samples) {
    if (finder.of(sample) == MachineWork::kCollector) sum += weight_of(sample, weight);
  }
  return sum;
}

}  // namespace swipr::profile
