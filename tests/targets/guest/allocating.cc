// Threads that allocate, and children that start threads, for replaced allocators and runtimes
// of sanitizers. The output is the same in every build.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<long> bytes{0};

void allocate(int rounds) {
  std::vector<std::string> kept;
  for (int i = 0; i < rounds; ++i) {
    kept.emplace_back(static_cast<std::size_t>(10 + i % 300), 'x');
    bytes += static_cast<long>(kept.back().size());
    if (kept.size() > 100) kept.clear();
  }
}

void run_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(allocate, 10'000);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main() {
  run_threads();
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      run_threads();
      _exit(bytes.load() == 2 * 4 * 1'585'000 ? 7 : 8);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child: %d\n", WEXITSTATUS(status));
  }
  std::printf("bytes: %ld\n", bytes.load());
}
