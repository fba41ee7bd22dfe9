#include "cli/profile/tables/machine_work.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

namespace swipr::profile {
namespace {

using std::chrono::milliseconds;

TEST(MachineWork, IsKnownByTheNamesOfThreads) {
  EXPECT_EQ(java_work_of("GC Thread#3"), MachineWork::kCollector);
  EXPECT_EQ(java_work_of("G1 Conc#0"), MachineWork::kCollector);
  for (const char* const name : {"GC task thread#", "Gang worker#1 (", "Concurrent Mark"}) {
    EXPECT_EQ(java_work_of(name), MachineWork::kCollector) << name;
  }
  EXPECT_EQ(java_work_of("ZWorkerYoung#0"), MachineWork::kCollector);
  EXPECT_EQ(java_work_of("C2 CompilerThre"), MachineWork::kCompiler);
  EXPECT_EQ(java_work_of("VM Thread"), MachineWork::kMachine);
  EXPECT_EQ(java_work_of("worker"), MachineWork::kProgram);
}

TEST(MachineWork, IsSummedInProcessesWithJava) {
  Recording recording;
  recording.processes.resize(3);
  recording.runtimes = {{0, Language::kJava, "17", ""},
                        {1, Language::kPython, "3.11", ""},
                        {2, Language::kJava, "", "java: frames are not read (x)"}};
  const auto add = [&recording](std::uint32_t process, const char* name, int cpu_ms) {
    Sample sample;
    sample.thread = static_cast<std::uint32_t>(recording.threads.size());
    sample.cpu = milliseconds(cpu_ms);
    recording.threads.push_back({process, Tid{1}, name});
    recording.samples.push_back(sample);
  };
  add(0, "worker", 50);
  add(0, "GC Thread#0", 20);
  add(0, "G1 Refine#0", 5);
  add(0, "C1 CompilerThre", 10);
  add(0, "VM Thread", 1);
  add(1, "GC Thread#0", 100);
  add(2, "GC Thread#0", 100);
  const auto found = machine_times(recording, {});
  ASSERT_EQ(found.size(), 1u);
  const MachineTimes& times = found.front();
  EXPECT_EQ(times.language, Language::kJava);
  EXPECT_EQ(collector_weight(recording, {}, Weight::kCpu), 25'000'000u);
  EXPECT_EQ(times.all, milliseconds(86));
  EXPECT_EQ(times.collectors, milliseconds(25));
  EXPECT_EQ(times.compilers, milliseconds(10));
  EXPECT_EQ(times.machine, milliseconds(1));
}

TEST(MachineWork, IsKnownByTheFunctionsOfTheRuntime) {
  const auto of = [](std::string_view function) {
    return work_of_function(Language::kJavaScript, function);
  };
  EXPECT_EQ(of("v8::internal::Heap::CollectGarbage(v8::internal::AllocationSpace)"),
            MachineWork::kCollector);
  EXPECT_EQ(of("void v8::internal::MarkCompactCollector::Mark<1>()"), MachineWork::kCollector);
  EXPECT_EQ(of("v8::internal::OptimizingCompileDispatcher::CompileNext(int)"),
            MachineWork::kCompiler);
  EXPECT_EQ(of("v8::internal::Factory::New(v8::internal::MarkCompactCollector::Mode)"),
            MachineWork::kProgram);
  EXPECT_EQ(of("node::v8::internal::Compiler::x()"), MachineWork::kProgram);
  EXPECT_EQ(of("zend_gc_collect_cycles"), MachineWork::kProgram);
  EXPECT_EQ(work_of_function(Language::kPhp, "zend_gc_collect_cycles"), MachineWork::kCollector);
}

// Stacks of one thread, innermost frame first.
class MachineStackTest : public testing::Test {
 protected:
  MachineStackTest() {
    recording_.processes.resize(1);
    recording_.threads = {{0, Tid{7}, "main"}};
    recording_.runtimes = {{0, Language::kJavaScript, "20", ""}};
  }
  MachineWork work_of(const std::vector<std::pair<std::string_view, Language>>& frames) {
    Stack stack;
    for (const auto& [function, language] : frames) {
      stack.frames.push_back(static_cast<std::uint32_t>(recording_.frames.size()));
      recording_.frames.emplace_back();
      NamedFrame named;
      named.function = function;
      named.language = language;
      names_.frames.push_back({named});
    }
    Sample sample;
    sample.stack = static_cast<std::uint32_t>(recording_.stacks.size());
    recording_.stacks.push_back(stack);
    return MachineWorkFinder(recording_, names_).of(sample);
  }
  void remove_runtime() { recording_.runtimes.clear(); }

 private:
  Recording recording_;
  Names names_;
};

TEST_F(MachineStackTest, IsThatOfTheInnermostFrameThatTells) {
  const std::pair collect{std::string_view("v8::internal::Heap::CollectGarbage()"),
                          Language::kNative};
  const std::pair compile{std::string_view("v8::internal::Compiler::Compile()"), Language::kNative};
  const std::pair script{std::string_view("run (app.js)"), Language::kJavaScript};
  const std::pair other{std::string_view("memcpy"), Language::kNative};
  EXPECT_EQ(work_of({other, collect, script}), MachineWork::kCollector);
  EXPECT_EQ(work_of({collect, compile, script}), MachineWork::kCollector);
  EXPECT_EQ(work_of({other, compile, script}), MachineWork::kCompiler);
  EXPECT_EQ(work_of({other, script, collect}), MachineWork::kProgram);
  EXPECT_EQ(work_of({other}), MachineWork::kProgram);
}

// Its process has no runtime that is read.
TEST_F(MachineStackTest, IsKnownOfGo) {
  remove_runtime();
  const std::pair mark{std::string_view("runtime.gcBgMarkWorker"), Language::kNative};
  const std::pair scan{std::string_view("runtime.scanobject"), Language::kNative};
  const std::pair main{std::string_view("main.main"), Language::kNative};
  EXPECT_EQ(work_of({scan, mark}), MachineWork::kCollector);
  EXPECT_EQ(work_of({scan, main}), MachineWork::kProgram);
}

}  // namespace
}  // namespace swipr::profile
