// Preloaded: the wall clock steps by two hours at each read, so that code that measures
// intervals with it fails.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

extern "C" [[gnu::visibility("default")]] int clock_gettime(clockid_t clock,
                                                            timespec* now) noexcept {
  static std::atomic<unsigned> looks{0};
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += (looks.fetch_add(1) & 1) != 0 ? 3600 : -3600;
  }
  return static_cast<int>(result);
}
