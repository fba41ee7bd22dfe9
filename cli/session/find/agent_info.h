// The agent's answer to GET /v1/info.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/host/result.h"

namespace swipr::session {

struct RuntimeInfo {
  std::string language;
  std::string version;  // empty: unknown
  std::string refusal;  // why its frames are not read; empty: they are
};

struct AgentInfo {
  std::string version;
  std::int64_t pid = 0;
  std::string command;
  std::uint32_t threads = 0;
  std::int64_t start_time_ns = 0;  // CLOCK_REALTIME; 0: unknown
  std::uint64_t recordings = 0;    // recordings that run now
  // From its environment at its start and from its own /proc; empty: not set, or unknown.
  std::string service, labels, resource_attributes;
  std::string argv0, hostname, cgroup;
  std::uint64_t pid_namespace = 0;
  std::uint64_t agent_cpu_ns = 0;  // CPU time of the control thread so far
  // Free memory in its memory cgroup: "enough" or "too little …"; empty: unknown.
  std::string memory;
  std::vector<RuntimeInfo> runtimes;  // of languages
};

// Fields that are missing or have another type keep their defaults, because an agent of another
// version may send fewer.
// Errors: not a JSON object.
host::Result<AgentInfo> parse_agent_info(std::string_view json);

}  // namespace swipr::session
