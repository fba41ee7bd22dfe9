// Native stacks of another process's threads, unwound by libdw: what swipr's own walk would give.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace swipr::runtimes {

struct NativeFrames {  // innermost first
  std::vector<std::uint64_t> pcs;
  std::vector<std::uint64_t> stacks;  // stack pointers
  std::vector<bool> have_cfi;         // otherwise left by the frame pointer
  std::vector<std::string> symbols;
};

// Stops the thread meanwhile. Empty: the process must not be traced, or nothing could be unwound.
NativeFrames unwind_thread(pid_t process, pid_t thread);

}  // namespace swipr::runtimes
