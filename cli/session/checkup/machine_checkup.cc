#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "cli/session/checkup/checkup.h"
#include "cli/session/find/places.h"
#include "cli/session/launch/program.h"
#include "common/host/host_facts.h"
#include "common/host/proc.h"
#include "common/host/unique_fd.h"

namespace swipr::session {

namespace {

// A thread of our own that waits in poll, so that there is one to look at.
class WaitingThread {
 public:
  WaitingThread() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) return;
    thread_ = std::thread([this] {
      tid_ = static_cast<std::int32_t>(::syscall(SYS_gettid));
      tid_.notify_one();
      pollfd waiting{ends_[0], POLLIN, 0};
      ::poll(&waiting, 1, -1);
    });
    tid_.wait(0);
    // Blocked for certain: its state says so, and it has nothing else to do.
    for (int attempt = 0; attempt < 1000 && read("stat").find(") S ") == std::string::npos;
         ++attempt)
      std::this_thread::yield();
  }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;
  ~WaitingThread() {
    if (!thread_.joinable()) return;
    ::close(ends_[1]);
    thread_.join();
    ::close(ends_[0]);
  }

  // A file of it in /proc; empty: unreadable.
  std::string read(std::string_view file) const {
    const auto text =
        host::read_file(fmt::format("/proc/self/task/{}/{}", tid_.load(), file), 4096);
    return text ? *text : std::string();
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::atomic<std::int32_t> tid_{0};
  std::thread thread_;
};

Finding check_system() {
  const host::HostFacts host = host::read_host_facts();
  std::string text =
      fmt::format("{} {}, {}", host.system_name, host.kernel_release, host.hardware_type);
  if (host.libc_type != "unknown") {
    text += fmt::format(", {} {}", host.libc_type, host.libc_version);
  }
  if (host.hardware_type == "x86_64") return {Verdict::kFine, "system", text, ""};
  if (host.hardware_type == "aarch64") {
    return {Verdict::kNote, "system", text, "on aarch64 functions are not traced"};
  }
  return {Verdict::kFailed, "system", text, "the preload supports x86-64 and aarch64 only"};
}

Finding check_preload() {
  const auto preload = find_preload();
  if (!preload) return {Verdict::kFailed, "preload", preload.error().message(), ""};
  if (preload->find('/') == std::string::npos) {
    return {Verdict::kNote, "preload",
            fmt::format("{} is not in the folder of this swipr", *preload),
            "if the loader does not find it, install swipr with cmake --install"};
  }
  return {Verdict::kFine, "preload", *preload, ""};
}

Finding check_waits(const WaitingThread& thread) {
  const std::string text = thread.read("syscall");
  if (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    return {Verdict::kFine, "waiting threads", "their stacks are read without a signal", ""};
  }
  return {
      Verdict::kNote, "waiting threads",
      "this kernel hides /proc/self/task/TID/syscall: their stacks are missing",
      "sandboxes such as gVisor do that; a kernel with CONFIG_HAVE_ARCH_TRACEHOOK has the file"};
}

Finding check_runqueue(const WaitingThread& thread) {
  if (!thread.read("schedstat").empty())
    return {Verdict::kFine, "run-queue times", "from schedstat", ""};
  return {Verdict::kNote, "run-queue times",
          "no /proc/self/task/TID/schedstat: waiting for a CPU counts as blocked",
          "a kernel with CONFIG_SCHED_INFO has the file"};
}

Finding check_memory() {
  const host::UniqueFd memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  const std::uint64_t written = 0x5377697072ULL;
  std::uint64_t seen = 0;
  const auto address = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(&written));
  if (memory && ::pread(memory.value(), &seen, sizeof seen, address) == sizeof seen &&
      seen == written) {
    return {Verdict::kFine, "own memory", "/proc/self/mem is readable", ""};
  }
  return {Verdict::kNote, "own memory",
          "/proc/self/mem is not readable: waiting threads have no stacks",
          "mount /proc, and allow the program to open its own memory"};
}

Finding check_debug_files() {
  const bool here = std::filesystem::exists("/usr/lib/debug/.build-id");
  if (here) return {Verdict::kFine, "debug files", "/usr/lib/debug/.build-id", ""};
  return {Verdict::kNote, "debug files",
          "none in /usr/lib/debug: system libraries have exported names only",
          "install the -dbgsym packages of your libraries (libc6-dbg for libc)"};
}

Finding check_restrictions() {
  const auto scope = host::read_file("/proc/sys/kernel/yama/ptrace_scope", 16);
  const auto paranoid = host::read_file("/proc/sys/kernel/perf_event_paranoid", 16);
  const auto number = [](const host::Result<std::string>& text) {
    return text ? text->substr(0, text->find('\n')) : std::string("absent");
  };
  return {Verdict::kFine, "not needed",
          fmt::format("ptrace (ptrace_scope {}), perf_event (perf_event_paranoid {})",
                      number(scope), number(paranoid)),
          ""};
}

}  // namespace

std::vector<Finding> check_machine() {
  const WaitingThread thread;
  return {check_system(),      check_preload(),
          check_waits(thread), check_runqueue(thread),
          check_memory(),      check_socket_folder(::geteuid(), own_environment()),
          check_debug_files(), check_restrictions()};
}

}  // namespace swipr::session
