// Work whose results are known, for programs in which functions are attached and detached
// meanwhile: vectors, varargs, exceptions, longjmp, coroutines, libraries, signal handlers,
// children.
#pragma once

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace swipr::trace {

inline constexpr std::size_t kWorkKinds = 17;
extern std::atomic<long> work_rounds;
extern std::array<std::atomic<long>, kWorkKinds> wrong_results;  // of each kind of work

void run_worker(unsigned seed);
void work_with_libraries(unsigned seed);
void on_alarm(int signal);

// Runs from construction to destruction: four workers, a thread that blocks all signals, one that
// forks and spawns, one that starts threads, and an alarm every 2 ms.
class CheckedWork {
 public:
  CheckedWork();
  ~CheckedWork();
  CheckedWork(const CheckedWork&) = delete;
  CheckedWork& operator=(const CheckedWork&) = delete;

 private:
  std::vector<std::thread> threads_;
};

}  // namespace swipr::trace
