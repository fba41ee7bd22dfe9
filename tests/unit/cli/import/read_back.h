// Reads a file of SwiprFile back, and small questions to the result.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/import/swipr_reader.h"
#include "cli/profile/recording/recording.h"
#include "common/wire/encoder.h"
#include "tests/unit/cli/import/swipr_file.h"

namespace swipr::test {

inline constexpr std::uint64_t kTickNs = 10'000'000;

inline profile::Recording read(std::vector<std::byte> bytes,
                               std::size_t chunk = std::size_t{1} << 20) {
  importers::SwiprReader reader;
  std::span<const std::byte> rest(bytes);
  while (!rest.empty()) {
    const auto part = rest.first(std::min(chunk, rest.size()));
    reader.feed(part);
    rest = rest.subspan(part.size());
  }
  auto result = reader.finish();
  if (!result) {
    ADD_FAILURE() << result.error().message();
    return {};
  }
  return std::move(*result);
}

inline std::vector<std::uint64_t> pcs_of(const profile::Recording& recording, std::uint32_t stack) {
  std::vector<std::uint64_t> pcs;
  for (std::uint32_t frame : recording.stacks.at(stack).frames) {
    pcs.push_back(recording.frames.at(frame).pc.value);
  }
  return pcs;
}

inline std::string module_of(const profile::Recording& recording, std::uint32_t stack,
                             std::size_t frame) {
  const std::uint32_t module =
      recording.frames.at(recording.stacks.at(stack).frames.at(frame)).module;
  return module == profile::kNone ? "none" : recording.modules.at(module).path;
}

// Source 0 with one thread and one module, ready for stacks and ticks.
inline void begin(wire::Encoder& out) {
  source(out, 42);
  module(out, 1, 0x10000, 0x1000, "/bin/app");
  thread(out, 1, 43, "worker");
}

inline SwiprFile ordinary_file() {
  SwiprFile file;
  file.block(0, [](wire::Encoder& out) {
    begin(out);
    stack(out, 1, {0x10010, 0x10020});
    tick(out, kTickNs, {{.thread_index = 1, .stack_id = 1, .cpu_ns = 7}});
  });
  file.block(0, [](wire::Encoder& out) {
    tick(out, kTickNs, {{.thread_index = 1, .same_stack = true}});
    totals(out, 2 * kTickNs, wire::counter::kSamples, 2);
    end(out, 2 * kTickNs);
  });
  return file;
}

}  // namespace swipr::test
