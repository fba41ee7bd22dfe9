// Writes small .swipr files in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/wire/encoder.h"
#include "common/wire/format.h"

namespace swipr::test {

class SwiprFile {
 public:
  SwiprFile() {
    add([](wire::Encoder& out) { wire::encode_file_header(out); });
  }

  // A block of `source`; `fill` writes its records.
  template <typename Fill>
  SwiprFile& block(std::uint32_t source, Fill fill) {
    std::vector<std::byte> payload(wire::kMaxBlockPayloadBytes);
    wire::Encoder out(payload);
    fill(out);
    payload.resize(out.size());
    add([&](wire::Encoder& file) { wire::encode_block_header(file, source, payload); });
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    return *this;
  }

  SwiprFile& garbage(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }

  SwiprFile& append(const SwiprFile& other) {
    bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    return *this;
  }

  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  template <typename Fill>
  void add(Fill fill) {
    std::vector<std::byte> part(64);
    wire::Encoder out(part);
    fill(out);
    bytes_.insert(bytes_.end(), out.bytes().begin(), out.bytes().end());
  }

  std::vector<std::byte> bytes_;
};

// Records with the fields that tests care about.

inline void source(wire::Encoder& out, std::uint64_t pid, std::string_view name = "app",
                   std::uint64_t machine = 62) {
  wire::SourceRecord record;
  record.pid = pid;
  record.parent_pid = 1;
  record.start_realtime_ns = 1'700'000'000'000'000'000;
  record.start_monotonic_ns = 1'000'000'000;
  record.interval_ns = 10'000'000;
  record.machine = machine;
  record.agent_version = "0.1.0";
  record.command_name = name;
  record.executable = "/bin/app";
  record.command_line = std::string_view("app\0-v\0", 7);
  encode(out, record);
}

inline void module(wire::Encoder& out, std::uint64_t id, std::uint64_t start, std::uint64_t size,
                   std::string_view path) {
  static constexpr std::byte kBuildId[] = {std::byte{0xAB}, std::byte{0x01}};
  wire::ModuleRecord record;
  record.module_id = id;
  record.start = start;
  record.size_bytes = size;
  record.file_offset = 0x1000;
  record.load_bias = start - 0x1000;
  record.build_id = kBuildId;
  record.path = path;
  encode(out, record);
}

inline void thread(wire::Encoder& out, std::uint64_t index, std::uint64_t tid,
                   std::string_view name, std::uint64_t start_ns = 0) {
  encode(out, wire::ThreadRecord{index, tid, start_ns, name});
}

// The first frame is exact, the others are return addresses.
inline void stack(wire::Encoder& out, std::uint64_t id, const std::vector<std::uint64_t>& pcs,
                  wire::StackRecord record = {}) {
  std::vector<wire::FrameEntry> frames;
  for (std::uint64_t pc : pcs) {
    frames.push_back({pc, frames.empty() ? wire::FrameSource::kContext : wire::FrameSource::kCfi,
                      frames.empty()});
  }
  record.stack_id = id;
  encode(out, record, frames);
}

struct Entry {
  std::uint64_t thread_index = 0;
  std::uint64_t stack_id = 0;  // 0 with same_stack: as before
  bool same_stack = false;
  std::uint64_t wall_ns = 0;  // 0: implied
  std::uint64_t cpu_ns = 0;
  std::uint64_t ticks = 1;
  wire::ThreadState state = wire::ThreadState::kRunning;
};

inline void tick(wire::Encoder& out, std::uint64_t delta_ns, const std::vector<Entry>& entries) {
  wire::TickEncoder tick(out, delta_ns);
  for (const Entry& entry : entries) {
    wire::SampleEntry sample;
    sample.thread_index = entry.thread_index;
    sample.state = entry.state;
    sample.stack_id = entry.stack_id;
    sample.cpu_ns = entry.cpu_ns;
    sample.wall_ns = entry.wall_ns;
    sample.ticks = entry.ticks;
    tick.put(sample, entry.same_stack, entry.wall_ns == 0);
  }
  tick.end();
}

inline void totals(wire::Encoder& out, std::uint64_t duration_ns, std::string_view name,
                   std::uint64_t value) {
  wire::TotalsEncoder totals(out, duration_ns);
  totals.put(name, value);
  totals.end();
}

inline void end(wire::Encoder& out, std::uint64_t duration_ns,
                wire::EndReason reason = wire::EndReason::kComplete, std::string_view text = "") {
  encode(out, wire::EndRecord{reason, duration_ns, text});
}

}  // namespace swipr::test
