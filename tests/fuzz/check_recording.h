// Invariants of every Recording, from any input, on which exporters rely.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "cli/profile/call_split.h"
#include "cli/profile/recording/recording.h"

namespace swipr::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline bool is_index(std::uint32_t index, std::size_t count) {
  return index == profile::kNone || index < count;
}

inline void check_calls(const profile::Recording& recording) {
  std::vector<std::uint32_t> functions;
  for (const profile::TracedFunction& function : recording.traced) {
    require(function.process < recording.processes.size());
    require(is_index(function.frame, recording.frames.size()));
    functions.push_back(static_cast<std::uint32_t>(functions.size()));
  }
  for (const profile::Call& call : recording.calls) {
    require(call.function < recording.traced.size());
    require(call.begin.count() >= 0 && call.duration.value_or(call.begin).count() >= 0);
  }
  for (const profile::CallSet& set : recording.call_sets) {
    require(set.first <= recording.open_calls.size());
    require(set.count <= recording.open_calls.size() - set.first);
  }
  for (const std::uint32_t call : recording.open_calls) require(call < recording.calls.size());
  for (const profile::Sample& sample : recording.samples) {
    require(is_index(sample.calls, recording.call_sets.size()));
  }
  const auto p95 = profile::quantile_of_calls(recording, functions, 95'000);
  const profile::CallSplit split(recording, functions, p95.value_or(std::chrono::milliseconds(5)));
  for (const profile::Sample& sample : recording.samples) (void)split.part_of(sample);
}

inline void check_recording(const profile::Recording& recording) {
  check_calls(recording);
  for (const profile::Module& module : recording.modules) {
    require(module.process < recording.processes.size());
  }
  for (const profile::Frame& frame : recording.frames) {
    require(frame.process < recording.processes.size());
    require(is_index(frame.module, recording.modules.size()));
    require(is_index(frame.function, recording.functions.size()));
    require(frame.function == profile::kNone || is_runtime_frame(frame.pc.value));
  }
  for (const profile::Function& function : recording.functions) {
    require(function.process < recording.processes.size());
    require(function.language != Language::kNative);
  }
  for (const profile::Runtime& runtime : recording.runtimes) {
    require(runtime.process < recording.processes.size());
  }
  for (const profile::Stack& stack : recording.stacks) {
    require(stack.omitted_at == profile::kNone || stack.omitted_at <= stack.frames.size());
    for (std::uint32_t frame : stack.frames) require(frame < recording.frames.size());
  }
  for (const profile::Thread& thread : recording.threads) {
    require(thread.process < recording.processes.size());
  }
  const profile::EmbeddedNames& names = recording.embedded;
  for (const profile::EmbeddedAddress& address : names.addresses) {
    require(address.file < names.files.size() && address.first_function <= names.functions.size());
    require(address.function_count <= names.functions.size() - address.first_function);
  }
  for (const profile::EmbeddedFunction& function : names.functions) {
    require(function.name < names.texts.size() && function.file < names.texts.size());
    require(function.linkage_name < names.texts.size());
  }
  for (const auto& code : names.code) require(code.process < recording.processes.size());
  for (const auto& gone : names.code_gone) require(gone.process < recording.processes.size());
  std::chrono::nanoseconds last{0};
  for (const profile::Sample& sample : recording.samples) {
    require(sample.thread < recording.threads.size());
    require(is_index(sample.stack, recording.stacks.size()));
    require(is_index(sample.labels, recording.label_sets.size()));
    require(sample.time >= last);
    require(sample.cpu.count() >= 0 && sample.runqueue.count() >= 0 && sample.wall.count() >= 0);
    for (int weight = 0; weight <= static_cast<int>(profile::Weight::kRunqueue); ++weight) {
      (void)profile::weight_of(sample, static_cast<profile::Weight>(weight));
    }
    last = sample.time;
  }
}

}  // namespace swipr::fuzz
