// The agent's answer to GET /v1/info.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/host/result.h"

namespace swipr::session {

struct AgentInfo {
  std::string version;
  std::int64_t pid = 0;
  std::string command;
  std::uint32_t threads = 0;
  std::int64_t start_time_ns = 0;  // CLOCK_REALTIME; 0: not told
  std::uint64_t recordings = 0;    // running now
  // What its memory cgroup leaves: "enough", or "too little …"; empty: not told.
  std::string memory;
};

// Fields that are missing or of another type keep their defaults: an agent of another version may
// know fewer.  Errors: no JSON object.
host::Result<AgentInfo> parse_agent_info(std::string_view json);

}  // namespace swipr::session
