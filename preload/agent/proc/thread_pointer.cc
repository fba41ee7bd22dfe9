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

// Source: glibc 2.17 to 2.42, nptl/descr.h: tid, (pid), robust_prev, robust_head.
bool is_list_of(Tid tid, std::uint64_t list, ProcMemory& memory) noexcept {
  constexpr std::uint64_t kTidBefore = 16;
  std::int32_t owner = 0;
  return list != 0 && memory.image_reader().read_value(list - kTidBefore, owner) &&
         owner == tid.value;
}

}  // namespace

std::uint64_t find_thread_pointer(Tid tid, ProcMemory& memory) noexcept {
  const std::uint64_t own = find_robust_list({});
  const std::uint64_t other = find_robust_list(tid);
  const Tid self{static_cast<std::int32_t>(::syscall(SYS_gettid))};
  if (!is_list_of(self, own, memory) || !is_list_of(tid, other, memory)) return 0;
  return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer()) + (other - own);
}

}  // namespace swipr::agent
