#include "cli/session/find/agent_info.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace swipr::session {

namespace {

using nlohmann::json;

std::string string_field(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::uint64_t number_field(const json& object, const char* key, std::uint64_t limit) {
  const auto field = object.find(key);
  if (field == object.end() || !field->is_number_unsigned()) return 0;
  const auto value = field->get<std::uint64_t>();
  return value <= limit ? value : 0;
}

std::vector<RuntimeInfo> runtimes_field(const json& object) {
  std::vector<RuntimeInfo> runtimes;
  const auto field = object.find("runtimes");
  if (field == object.end() || !field->is_array()) return runtimes;
  for (const json& entry : *field) {
    if (!entry.is_object()) continue;
    runtimes.push_back({string_field(entry, "language"), string_field(entry, "version"),
                        string_field(entry, "refusal")});
  }
  return runtimes;
}

}  // namespace

host::Result<AgentInfo> parse_agent_info(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return host::Error("the answer is not a JSON object");
  constexpr auto kMaxSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  AgentInfo info;
  info.version = string_field(object, "version");
  info.pid = static_cast<std::int64_t>(
      number_field(object, "pid", std::numeric_limits<std::int32_t>::max()));
  info.command = string_field(object, "command");
  info.threads = static_cast<std::uint32_t>(
      number_field(object, "threads", std::numeric_limits<std::uint32_t>::max()));
  info.start_time_ns = static_cast<std::int64_t>(number_field(object, "start_time_ns", kMaxSigned));
  info.recordings = number_field(object, "recordings", kMaxSigned);
  info.service = string_field(object, "service");
  info.labels = string_field(object, "labels");
  info.resource_attributes = string_field(object, "resource_attributes");
  info.argv0 = string_field(object, "argv0");
  info.hostname = string_field(object, "hostname");
  info.cgroup = string_field(object, "cgroup");
  info.pid_namespace = number_field(object, "pid_namespace", kMaxSigned);
  info.agent_cpu_ns = number_field(object, "agent_cpu_ns", kMaxSigned);
  info.memory = string_field(object, "memory");
  info.runtimes = runtimes_field(object);
  return info;
}

}  // namespace swipr::session
