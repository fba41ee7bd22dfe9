#include "preload/runtimes/tid_in_pthread.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

namespace swipr::runtimes {

std::uint32_t find_tid_in_pthread() noexcept {
  constexpr std::size_t kBytes = 1024;
  const auto* const self = reinterpret_cast<const std::byte*>(::pthread_self());
  return find_tid({self, kBytes}, static_cast<std::int32_t>(::syscall(SYS_gettid)));
}

std::uint32_t find_tid(std::span<const std::byte> descriptor, std::int32_t tid) noexcept {
  for (std::size_t at = 0; at + sizeof tid <= descriptor.size(); at += sizeof(void*)) {
    if (std::memcmp(&descriptor[at], &tid, sizeof tid) == 0) return static_cast<std::uint32_t>(at);
  }
  return 0;
}

std::uint64_t find_pthread_offset() noexcept {
  return ::pthread_self() - reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
}

}  // namespace swipr::runtimes
