#include "preload/agent/proc/thread_pointer.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace swipr::agent {

namespace {

// 0: it has none. The calling thread: {}.
std::uint64_t find_robust_list(Tid tid) noexcept {
  std::uint64_t head = 0;
  std::size_t bytes = 0;
  return ::syscall(SYS_get_robust_list, tid.value, &head, &bytes) == 0 ? head : 0;
}

}  // namespace

std::uint64_t find_thread_pointer(Tid tid, ProcMemory& memory) noexcept {
  const std::uint64_t own = find_robust_list({});
  const std::uint64_t other = find_robust_list(tid);
  const auto own_pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  if (own == 0 || other == 0) return 0;
  // On x86-64 the thread pointer points to itself (System V AMD64 ABI, 3.4.6; tcbhead_t.tcb).
  const std::uint64_t pointer = own_pointer + (other - own);
  std::uint64_t self = 0;
  return memory.image_reader().read_value(pointer, self) && self == pointer ? pointer : 0;
}

}  // namespace swipr::agent
