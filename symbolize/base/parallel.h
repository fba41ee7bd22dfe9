// Distributes work over the CPUs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace swipr::symbolize {

// The number of CPUs, with an upper limit.
inline std::size_t worth_of_threads() {
  constexpr std::size_t kMaxThreads = 16;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMaxThreads);
}

// Calls `work` for each index below `count`, in a number of threads that depends on `count`.
// `work` must not throw.
template <typename Work>
void for_each_index(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t index = next++; index < count; index = next++) work(index);
  };
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < std::min(threads, count)) others.emplace_back(run);
  } catch (const std::system_error&) {  // no more threads: continue with fewer
  }
  run();
  for (std::thread& other : others) other.join();
}

}  // namespace swipr::symbolize
