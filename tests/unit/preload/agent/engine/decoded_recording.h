// A recorder's bytes as values, with every entry's implied fields filled in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/wire/format.h"

namespace swipr::test {

struct DecodedStack {
  std::uint64_t flags = 0;
  std::uint64_t wait_syscall = 0;
  std::string wait_channel;
  std::vector<wire::FrameEntry> frames;
  // Names of exported functions, innermost first; "" where there is none.
  std::vector<std::string> names() const;
};

struct DecodedEntry {
  std::uint64_t time_ns = 0;
  wire::SampleEntry sample;
  DecodedStack stack;  // empty: none
};

struct DecodedThread {
  std::uint64_t tid = 0;
  std::uint64_t start_ns = 0;
  std::string name;
  std::vector<DecodedEntry> entries;
  std::uint64_t sum_cpu() const;
  std::uint64_t sum_wall() const;
  std::uint64_t sum_runqueue() const;
  std::uint64_t sum_ticks() const;
};

struct DecodedModule {
  std::uint64_t id = 0, start = 0, end = 0;
  std::string path;
  std::size_t build_id_bytes = 0;
  bool gone = false;
};

struct DecodedRecording {
  std::size_t tick_bytes = 0;  // of all tick records
  bool damaged = false;        // a record did not decode, or an entry has an undefined id
  std::string executable;
  std::uint64_t interval_ns = 0;
  wire::RecordMode mode = wire::RecordMode::kWall;
  std::map<std::uint64_t, DecodedThread> threads;  // by index
  std::vector<DecodedModule> modules;
  std::vector<std::uint64_t> users;  // of the process, in order
  std::size_t users_before_threads = 0;
  std::map<std::string, std::uint64_t> totals;
  std::optional<std::uint64_t> duration_ns;  // of the end record
  std::string messages;
  std::map<std::string, wire::CodeRecord> code;  // by name
  std::vector<wire::CodeGoneRecord> code_gone;

  const DecodedThread* thread_of(int tid) const;
  const DecodedModule* module_at(std::uint64_t pc) const;
};

DecodedRecording decode_recording(std::span<const std::byte> bytes);

}  // namespace swipr::test
