// A server without a network whose slowest requests have two causes, for docs/WALKTHROUGH.md: one
// in about 25 finds its table of sessions full of old entries and rebuilds it (`rehash`), and one
// in about 30 waits for the journal, which `flusher` keeps locked while it writes
// (`write_journal`). Ends when standard input does.
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

constexpr unsigned kWorkers = 2;
constexpr std::uint64_t kSessionsPerRequest = 8'000;

// Ids of sessions, the newest of which are alive: open addressing, old ones stay until a rehash.
class Sessions {
 public:
  void add(std::uint64_t id) {
    if (++used_ > kMostUsed) rehash(id);
    insert(id);
  }

 private:
  static constexpr std::size_t kSlots = std::size_t{1} << 19;
  static constexpr std::size_t kMostUsed = 220'000;
  static constexpr std::uint64_t kAlive = 20'000;

  void insert(std::uint64_t id) {
    std::size_t place = id * 0x9E3779B97F4A7C15u >> 45;
    while (slots_[place] != 0 && slots_[place] != id) place = (place + 1) % kSlots;
    slots_[place] = id;
  }

  [[gnu::noinline]] void rehash(std::uint64_t newest) {
    const std::vector<std::uint64_t> before = std::move(slots_);
    slots_.assign(kSlots, 0);
    used_ = 0;
    for (const std::uint64_t id : before) {
      if (id == 0 || id + kAlive < newest) continue;
      insert(id);
      ++used_;
    }
  }

  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(kSlots);
  std::size_t used_ = 0;
};

class Journal {
 public:
  [[gnu::noinline]] void append(std::uint64_t entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(entry);
  }

  // What a slow disk does to everybody who appends meanwhile.
  [[gnu::noinline]] void write_journal() {
    const std::lock_guard lock(mutex_);
    std::this_thread::sleep_for(8ms);
    entries_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> entries_;
};

Journal journal;

struct Request {
  Sessions& sessions;
  std::uint64_t number;
};

[[gnu::noinline]] void look_up(Request& request) {
  for (std::uint64_t at = 0; at < kSessionsPerRequest; ++at) {
    request.sessions.add(request.number * kSessionsPerRequest + at + 1);
  }
}

[[gnu::noinline]] std::uint64_t handle_request(Request& request) {
  look_up(request);
  journal.append(request.number);
  return request.number;
}

static void serve() {
  ::pthread_setname_np(::pthread_self(), "worker");
  Sessions sessions;
  for (Request request{sessions, 0};; ++request.number) {
    handle_request(request);
    std::this_thread::sleep_for(2ms);
  }
}

static void write_behind() {
  ::pthread_setname_np(::pthread_self(), "flusher");
  while (true) {
    std::this_thread::sleep_for(250ms);
    journal.write_journal();
  }
}

int main() {
  for (unsigned number = 0; number < kWorkers; ++number) std::thread(serve).detach();
  std::thread(write_behind).detach();
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  ::_exit(0);
}
