#include "cli/fleet/slice.h"

#include <gtest/gtest.h>

namespace swipr::fleet {
namespace {

using namespace std::chrono_literals;

profile::Sample sample_at(std::chrono::nanoseconds time, std::uint32_t thread,
                          std::uint32_t stack) {
  profile::Sample sample;
  sample.time = time;
  sample.thread = thread;
  sample.stack = stack;
  sample.cpu = 1ms;
  return sample;
}

// Two processes with one thread, module, frame and stack each.
profile::Recording two_processes() {
  profile::Recording whole;
  for (std::uint32_t index = 0; index < 2; ++index) {
    profile::Process process;
    process.command_name = index == 0 ? "first" : "second";
    process.totals["samples"] = 7;
    whole.processes.push_back(process);
    profile::Module module;
    module.process = index;
    whole.modules.push_back(module);
    profile::Frame frame;
    frame.process = frame.module = index;
    whole.frames.push_back(frame);
    profile::Stack stack;
    stack.frames = {index};
    whole.stacks.push_back(stack);
    profile::Thread thread;
    thread.process = index;
    whole.threads.push_back(thread);
  }
  return whole;
}

TEST(CutSlice, HasOnlyWhatItsSamplesUse) {
  const profile::Recording whole = two_processes();
  const std::vector<profile::Sample> samples = {sample_at(5s, 1, 1),
                                                sample_at(4s, 1, profile::kNone)};
  const Slice slice = cut_slice(whole, samples, {100s, 3s, 2s});
  ASSERT_EQ(slice.recording.processes.size(), 1u);
  EXPECT_EQ(slice.recording.processes[0].command_name, "second");
  EXPECT_EQ(slice.recording.processes[0].start_realtime, 100s);
  EXPECT_EQ(slice.recording.processes[0].duration, 2s);
  EXPECT_TRUE(slice.recording.processes[0].totals.empty());
  EXPECT_EQ(slice.recording.stacks.at(0).frames, std::vector<std::uint32_t>{0});
  EXPECT_EQ(slice.recording.frames.at(0).module, 0u);
  EXPECT_EQ(slice.recording.modules.at(0).process, 0u);
  EXPECT_EQ(slice.frames, std::vector<std::uint32_t>{1});
  EXPECT_EQ(slice.processes, std::vector<std::uint32_t>{1});
  ASSERT_EQ(slice.recording.samples.size(), 2u);
  EXPECT_EQ(slice.recording.samples[0].time, 4s);  // in order of time
  EXPECT_EQ(slice.recording.samples[0].stack, profile::kNone);
}

TEST(CutSlice, KeepsTheLabelsOfItsSamples) {
  profile::Recording whole = two_processes();
  whole.label_sets = {{{"a", "1"}}, {{"a", "2"}}};
  std::vector<profile::Sample> samples = {sample_at(4s, 1, 1), sample_at(5s, 1, 1)};
  samples[0].labels = 1;
  const Slice slice = cut_slice(whole, samples, {100s, 3s, 2s});
  ASSERT_EQ(slice.recording.samples.size(), 2u);
  EXPECT_EQ(slice.recording.label_sets, std::vector<profile::LabelSet>{whole.label_sets[1]});
  EXPECT_EQ(slice.recording.samples[0].labels, 0u);
  EXPECT_EQ(slice.recording.samples[1].labels, profile::kNone);
}

TEST(CutSlice, OfNothingIsEmpty) {
  const Slice slice = cut_slice(two_processes(), {}, {});
  EXPECT_TRUE(slice.recording.processes.empty());
  EXPECT_TRUE(slice.recording.frames.empty());
}

}  // namespace
}  // namespace swipr::fleet
