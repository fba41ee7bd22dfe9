#include "cli/session/find/wake.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "common/host/proc.h"

namespace swipr::session {

namespace {

// SIGCANCEL of libc (see exit_gate.cc in the preload). It would end a process if a thread
// received it that does not block it.
constexpr int kWakeSignal = 32;

std::string_view field(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return {};
  status.remove_prefix(at + name.size());
  return status.substr(0, status.find('\n'));
}

bool is_control_thread(std::string_view status) {
  if (!status.starts_with("Name:\tswipr\n")) return false;
  const std::string_view blocked = field(status, "\nSigBlk:\t");
  std::uint64_t mask = 0;
  const auto parsed = std::from_chars(blocked.data(), blocked.data() + blocked.size(), mask, 16);
  return parsed.ec == std::errc() && (mask >> (kWakeSignal - 1) & 1) != 0;
}

}  // namespace

bool ask_to_listen_again(Pid pid) {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(host::proc_path(pid, "task"), error)) {
    const std::string name = entry.path().filename();
    const auto status = host::read_file(entry.path() / "status");
    if (!status || !is_control_thread(*status)) continue;
    int tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    return tid > 0 && ::syscall(SYS_tgkill, pid.value, tid, kWakeSignal) == 0;
  }
  return false;
}

}  // namespace swipr::session
