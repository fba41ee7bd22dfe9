#include "cli/profile/tables/java_work.h"

#include <gtest/gtest.h>

namespace swipr::profile {
namespace {

using std::chrono::milliseconds;

TEST(JavaWork, IsKnownByTheNamesOfThreads) {
  EXPECT_EQ(java_work_of("GC Thread#3"), JavaWork::kCollector);
  EXPECT_EQ(java_work_of("G1 Conc#0"), JavaWork::kCollector);
  EXPECT_EQ(java_work_of("ZWorkerYoung#0"), JavaWork::kCollector);
  EXPECT_EQ(java_work_of("C2 CompilerThre"), JavaWork::kCompiler);
  EXPECT_EQ(java_work_of("VM Thread"), JavaWork::kMachine);
  EXPECT_EQ(java_work_of("worker"), JavaWork::kProgram);
}

TEST(JavaWork, IsSummedInProcessesWithJava) {
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
  const JavaTimes times = java_times(recording);
  EXPECT_EQ(times.all, milliseconds(86));
  EXPECT_EQ(times.collectors, milliseconds(25));
  EXPECT_EQ(times.compilers, milliseconds(10));
  EXPECT_EQ(times.machine, milliseconds(1));
}

}  // namespace
}  // namespace swipr::profile
