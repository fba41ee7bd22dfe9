// The example file of docs/RAW_FORMAT.md, made with the encoder.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "common/core/runtime_frame.h"
#include "common/wire/encoder.h"
#include "common/wire/runtimes.h"

namespace swipr::test {

inline void put_example_records(wire::Encoder& out) {
  static constexpr std::array<std::byte, 2> kBuildId = {std::byte{0xC0}, std::byte{0xDE}};
  wire::SourceRecord source;
  source.pid = 300;
  source.parent_pid = 1;
  source.start_realtime_ns = 1'700'000'000'000'000'000;
  source.start_monotonic_ns = 5'000'000'000;
  source.interval_ns = 10'000'000;
  source.ticks_asked = 2;
  source.machine = 62;
  source.agent_version = "0.1";
  source.command_name = "app";
  source.executable = "/app";
  source.command_line = std::string_view("app\0-v\0", 7);
  encode(out, source);

  wire::ModuleRecord module;
  module.module_id = 1;
  module.start = 0x401000;
  module.size_bytes = 0x1000;
  module.file_offset = 0x1000;
  module.load_bias = 0x400000;
  module.build_id = kBuildId;
  module.path = "/app";
  encode(out, module);
  encode(out, wire::ThreadRecord{0, 300, 0, "main"});

  wire::FunctionRecord function;
  function.function = 1;
  function.language = Language::kPython;
  function.name = "run";
  function.file = "/app.py";
  function.start_line = 28;
  encode(out, function);

  const auto interpreted = static_cast<wire::FrameSource>(Execution::kInterpreted);
  const std::array<wire::FrameEntry, 3> frames = {{
      {0x401234, wire::FrameSource::kContext, true},
      {runtime_frame_pc({.function = 1, .line = 31}), interpreted, true},
      {0x401100, wire::FrameSource::kCfi, false},
  }};
  wire::StackRecord stack;
  stack.stack_id = 1;
  stack.flags = wire::kStackRootReached;
  encode(out, stack, frames);

  wire::TickEncoder first(out, 10'000'000);
  first.put({0, wire::ThreadState::kRunning, 1, 9'000'000, 0, 10'000'000, 1}, false, true);
  first.end();
  wire::TickEncoder second(out, 10'000'000);
  second.put({0, wire::ThreadState::kBlocked, 1, 0, 0, 10'000'000, 1}, true, true);
  second.end();

  wire::TotalsEncoder totals(out, 20'000'000);
  totals.put(wire::counter::kTicks, 2);
  totals.put(wire::counter::kSamples, 2);
  totals.end();
  encode(out, wire::EndRecord{wire::EndReason::kComplete, 20'000'000, ""});
}

inline std::vector<std::byte> make_worked_example() {
  std::vector<std::byte> payload(4096);
  wire::Encoder records(payload);
  put_example_records(records);
  payload.resize(records.size());

  std::vector<std::byte> file(wire::kFileHeaderBytes + wire::kBlockHeaderBytes);
  wire::Encoder headers(file);
  wire::encode_file_header(headers);
  wire::encode_block_header(headers, 0, payload);
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

}  // namespace swipr::test
