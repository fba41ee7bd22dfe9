#include "cli/export/formats/col_header.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/export/text/text.h"

namespace swipr::exporters {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(std::string_view text) { return clean_text(text); }

Json metadata_of(const profile::Recording& recording, const host::HostFacts& host) {
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
  std::int32_t pid = 0;
  for (const profile::Process& process : recording.processes) {
    if (begin.count() == 0 || process.start_realtime < begin) begin = process.start_realtime;
    end = std::max(end, process.start_realtime + process.duration);
    if (pid == 0) pid = process.pid.value;
  }
  Json metadata;
  metadata["current_time"] = iso_time(end);
  metadata["spawn_time"] = iso_time(begin);
  metadata["spawn_uptime_ms"] =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - begin).count();
  metadata["private_ip"] = "unknown";
  metadata["hostname"] = text_of(host.hostname);
  metadata["cloud_provider"] = "Unknown";
  metadata["processors"] = host.processors;
  metadata["memory_capacity_mb"] = host.memory_capacity_mb;
  metadata["system_name"] = text_of(host.system_name);
  metadata["os_name"] = text_of(host.os_name);
  metadata["os_release"] = text_of(host.os_release);
  metadata["kernel_release"] = text_of(host.kernel_release);
  metadata["kernel_version"] = text_of(host.kernel_version);
  metadata["hardware_type"] = text_of(host.hardware_type);
  metadata["pid"] = pid;
  metadata["mac_address"] = "unknown";
  metadata["agent_version"] = "swipr " SWIPR_VERSION;
  metadata["libc_type"] = host.libc_type;
  metadata["libc_version"] = host.libc_version;
  metadata["python_version"] = "";
  metadata["run_mode"] = "local";
  metadata["deployment_type"] = "unknown";
  metadata["run_arguments"] = Json::object();
  return metadata;
}

}  // namespace

std::string iso_time(std::chrono::nanoseconds since_epoch) {
  const auto seconds =
      static_cast<std::time_t>(std::chrono::floor<std::chrono::seconds>(since_epoch).count());
  std::tm parts{};
  char text[32] = "1970-01-01T00:00:00";
  if (::gmtime_r(&seconds, &parts) != nullptr) {
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  }
  return text;
}

host::Result<std::string> static_metadata(std::string_view text) {
  const Json file = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto found = file.is_object() ? file.find("static") : file.end();
  if (!file.is_object() || found == file.end() || !found->is_object()) {
    return host::Error("no JSON object with an object \"static\"");
  }
  return found->dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string format_col_header(const profile::Recording& recording, const Options& options,
                              std::string_view application_metadata, std::string_view mode) {
  Json header;
  header["containers"] = Json::array();
  header["container_names_enabled"] = true;
  header["metadata"] = metadata_of(recording, options.host);
  if (!options.metadata.empty()) {
    // What the readers of the format need keeps its value.
    const Json more = Json::parse(options.metadata);
    for (const auto& [name, value] : more.items()) {
      if (!header["metadata"].contains(name)) header["metadata"][name] = value;
    }
  }
  header["metrics"] = {{"cpu_avg", nullptr}, {"mem_avg", nullptr}};
  header["application_metadata"] = Json::parse(application_metadata);
  header["application_metadata_enabled"] = true;
  header["profiling_mode"] = mode;
  return "# " + header.dump() + "\n";
}

}  // namespace swipr::exporters
