#include "common/host/host_facts.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/host/proc.h"

// A static program has no dynamic section (ELF gABI, chapter 5) and a C library of its own.
[[gnu::weak]] extern const char dynamic_section[] __asm__("_DYNAMIC");

namespace swipr::host {

std::string find_release_value(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.starts_with(name) || line.substr(name.size()).find('=') != 0) continue;
    line.remove_prefix(name.size() + 1);
    if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'')) {
      line = line.substr(1, line.size() - 2);
    }
    return std::string(line);
  }
  return "";
}

HostFacts read_host_facts() {
  HostFacts facts;
  const auto keep = [](std::string& fact, std::string value) {
    if (!value.empty()) fact = std::move(value);
  };
  utsname system{};
  if (::uname(&system) == 0) {
    keep(facts.hostname, system.nodename);
    keep(facts.system_name, system.sysname);
    keep(facts.kernel_release, system.release);
    keep(facts.kernel_version, system.version);
    keep(facts.hardware_type, system.machine);
  }
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const auto text = read_file(path);
    if (!text) continue;
    keep(facts.os_name, find_release_value(*text, "NAME"));
    keep(facts.os_release, find_release_value(*text, "VERSION_ID"));
    break;
  }
  if (dynamic_section != nullptr) {
    facts.libc_type = "glibc";
    facts.libc_version = ::gnu_get_libc_version();
  }
  const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (processors > 0) facts.processors = static_cast<std::uint32_t>(processors);
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  facts.memory_capacity_mb = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) >> 20;
  return facts;
}

}  // namespace swipr::host
