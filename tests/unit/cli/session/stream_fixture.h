// Small streams as an agent sends them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/host/temporary_folder.h"
#include "common/wire/format.h"

namespace swipr::session {

using Bytes = std::vector<std::byte>;

Bytes to_bytes(std::string_view text);
Bytes operator+(Bytes left, const Bytes& right);

// Payloads of blocks.
Bytes source_payload(std::uint64_t pid, std::uint64_t ticks_asked = 0);
Bytes tick_payload(std::uint64_t threads, std::uint64_t time_delta_ns);
Bytes totals_payload(std::uint64_t ticks, std::uint64_t samples, std::uint64_t dropped);
Bytes message_payload(wire::MessageLevel level, std::string_view text);
Bytes end_payload();

Bytes file_header();
Bytes block(const Bytes& payload, std::uint32_t source = 0);
Bytes chunk(const Bytes& bytes);

// A whole answer to POST /v1/record: header and the chunks; `end` false: cut after the last one.
Bytes record_answer(const std::vector<Bytes>& payloads, bool end = true);

// A folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() { EXPECT_TRUE(folder_.exists()) << folder_.path(); }
  std::string file(std::string_view name) const {
    return (std::filesystem::path(folder_.path()) / name).string();
  }

 private:
  host::TemporaryFolder folder_;
};

Bytes read_bytes(const std::string& path);
// The blocks of a .swipr file: source number and payload. Fails the test on anything else.
std::vector<std::pair<std::uint32_t, Bytes>> blocks_of(const Bytes& file);

}  // namespace swipr::session
