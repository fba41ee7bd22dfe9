#include "tests/unit/cli/session/stream_fixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>

#include "common/wire/decoder.h"
#include "common/wire/encoder.h"

namespace swipr::session {

namespace {

template <typename Write>
Bytes encoded(Write write) {
  Bytes buffer(65536);
  wire::Encoder out(buffer);
  write(out);
  EXPECT_FALSE(out.overflowed());
  buffer.resize(out.size());
  return buffer;
}

}  // namespace

Bytes to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes source_payload(std::uint64_t pid, std::uint64_t ticks_asked) {
  return encoded([&](wire::Encoder& out) {
    wire::SourceRecord source;
    source.pid = pid;
    source.interval_ns = 10'000'000;
    source.ticks_asked = ticks_asked;
    source.command_name = "app";
    source.executable = "/usr/bin/app";
    source.command_line = std::string_view("app\0-p secret", 13);
    wire::encode(out, source);
    wire::ThreadRecord thread;
    thread.tid = pid;
    thread.name = "main";
    wire::encode(out, thread);
  });
}

Bytes message_payload(wire::MessageLevel level, std::string_view text) {
  return encoded([&](wire::Encoder& out) { wire::encode(out, wire::MessageRecord{level, text}); });
}

Bytes tick_payload(std::uint64_t threads, std::uint64_t time_delta_ns) {
  return encoded([&](wire::Encoder& out) {
    wire::TickEncoder tick(out, time_delta_ns);
    for (std::uint64_t index = 0; index < threads; ++index) {
      wire::SampleEntry entry;
      entry.thread_index = index;
      entry.ticks = 2;
      tick.put(entry, false, true);
    }
    tick.end();
  });
}

Bytes totals_payload(std::uint64_t ticks, std::uint64_t samples, std::uint64_t dropped) {
  return encoded([&](wire::Encoder& out) {
    wire::TotalsEncoder totals(out, ticks * 10'000'000);
    totals.put(wire::counter::kTicks, ticks);
    totals.put(wire::counter::kSamples, samples);
    totals.put(wire::counter::kSamplesDropped, dropped);
    totals.end();
  });
}

Bytes end_payload() {
  return encoded([](wire::Encoder& out) {
    wire::EndRecord end;
    end.reason = wire::EndReason::kProcessExit;
    wire::encode(out, end);
  });
}

Bytes file_header() {
  return encoded([](wire::Encoder& out) { wire::encode_file_header(out); });
}

Bytes block(const Bytes& payload, std::uint32_t source) {
  return encoded([&](wire::Encoder& out) { wire::encode_block_header(out, source, payload); }) +
         payload;
}

Bytes chunk(const Bytes& bytes) {
  return to_bytes(fmt::format("{:x}\r\n", bytes.size())) + bytes + to_bytes("\r\n");
}

Bytes record_answer(const std::vector<Bytes>& payloads, bool end) {
  Bytes answer =
      to_bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") + chunk(file_header());
  for (const Bytes& payload : payloads) answer = std::move(answer) + chunk(block(payload));
  return end ? std::move(answer) + to_bytes("0\r\n\r\n") : answer;
}

Bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return to_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::vector<std::pair<std::uint32_t, Bytes>> blocks_of(const Bytes& file) {
  std::vector<std::pair<std::uint32_t, Bytes>> blocks;
  std::uint16_t version = 0;
  EXPECT_EQ(wire::decode_file_header(file, version), wire::HeaderStatus::kOk);
  auto rest = std::span(file).subspan(std::min(wire::kFileHeaderBytes, file.size()));
  while (!rest.empty()) {
    const auto header = wire::decode_block_header(rest);
    if (!header || rest.size() < wire::kBlockHeaderBytes + header->payload_bytes) {
      ADD_FAILURE() << "torn file";
      break;
    }
    const auto payload = rest.subspan(wire::kBlockHeaderBytes, header->payload_bytes);
    EXPECT_EQ(wire::crc32(payload), header->crc);
    blocks.emplace_back(header->source, Bytes(payload.begin(), payload.end()));
    rest = rest.subspan(wire::kBlockHeaderBytes + header->payload_bytes);
  }
  return blocks;
}

}  // namespace swipr::session
