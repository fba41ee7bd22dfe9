// Gives up its privileges and then waits in the main thread and in another one. Commands, a line
// each:
//   drop   setuid to nobody, or without the right to do so PR_SET_DUMPABLE 0. Answers "dropped".
//   number setuid to nobody by the call's number, which libc's other threads do not hear of.
//   "dropped". capset give up all capabilities, and nothing else. Answers "dropped". wait   both
//   threads wait 300 ms in poll. Answers one line per thread: "poll RESULT early|full time",
//          then "done".
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "tests/targets/target.h"

namespace {

constexpr std::chrono::milliseconds kWait{300};

std::string wait_in_poll() {
  const auto begin = std::chrono::steady_clock::now();
  const int result = poll(nullptr, 0, static_cast<int>(kWait.count()));
  const bool early = std::chrono::steady_clock::now() - begin < kWait;
  return "poll " + std::to_string(result) + (early ? " early" : " full time");
}

bool give_up_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

}  // namespace

int main() {
  target::say("ready");
  for (char line[64]; target::read_line(line, sizeof line);) {
    if (std::strcmp(line, "drop") == 0) {
      if (setuid(65534) != 0) prctl(PR_SET_DUMPABLE, 0);
      target::say("dropped");
      continue;
    }
    if (std::strcmp(line, "number") == 0) {
      target::say(syscall(SYS_setresuid, 65534, 65534, 65534) == 0 ? "dropped" : "refused");
      continue;
    }
    if (std::strcmp(line, "capset") == 0) {
      target::say(give_up_capabilities() ? "dropped" : "refused");
      continue;
    }
    std::string other;
    std::thread thread([&other] { other = wait_in_poll(); });
    target::say(wait_in_poll().c_str());
    thread.join();
    target::say(other.c_str());
    target::say("done");
  }
}
