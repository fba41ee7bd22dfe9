#include "preload/runtimes/tid_in_pthread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace swipr::runtimes {

std::uint32_t find_tid_in_pthread() noexcept {
  constexpr std::uint32_t kBytes = 1024;
  const auto* const self = reinterpret_cast<const std::byte*>(::pthread_self());
  const auto tid = static_cast<std::int32_t>(::syscall(SYS_gettid));
  std::uint32_t found = 0;
  for (std::uint32_t at = 0; at < kBytes; at += sizeof tid) {
    if (std::memcmp(self + at, &tid, sizeof tid) != 0) continue;
    if (found != 0) return 0;
    found = at;
  }
  return found;
}

std::uint64_t find_pthread_offset() noexcept {
  return ::pthread_self() - reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
}

}  // namespace swipr::runtimes
