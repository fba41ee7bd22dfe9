// What a profile says of the machine that it is from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace swipr::host {

// Texts are "unknown" where nothing is known, because readers of profiles accept no empty value.
struct HostFacts {
  std::string hostname = "unknown";
  std::string system_name = "unknown";     // "Linux"
  std::string os_name = "unknown";         // "Debian GNU/Linux"
  std::string os_release = "unknown";      // "12"
  std::string kernel_release = "unknown";  // "6.1.0-18-amd64"
  std::string kernel_version = "unknown";
  std::string hardware_type = "unknown";  // "x86_64"
  std::string libc_type = "unknown";
  std::string libc_version = "unknown";
  std::uint32_t processors = 1;
  std::uint64_t memory_capacity_mb = 0;
};

HostFacts read_host_facts();

// Value of NAME in the text of os-release(5), without quotes; empty: missing.
std::string find_release_value(std::string_view text, std::string_view name);

}  // namespace swipr::host
