// locked_calls: calls of handle_call() that wait for mutexes which other threads hold: each for 2
// ms for what `cleaner` holds in clean_cache(), each tenth also for 8 ms for what `flusher` holds
// in flush_journal(). "serve COUNT" on standard input makes so many, and prints how long they
// waited: JOURNAL_NS CACHE_NS_IN_EACH_TENTH CACHE_NS_IN_OTHERS. The program ends with its standard
// input.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "tests/targets/target.h"

TARGET_FRAME int clean_cache(int milliseconds) {
  target::sleep_ms(milliseconds);
  return milliseconds + 1;
}

TARGET_FRAME int flush_journal(int milliseconds) {
  target::sleep_ms(milliseconds);
  return milliseconds + 2;
}

namespace {

// A thread that takes its mutex when it is told to, and keeps it for a time.
class Holder {
 public:
  Holder(const char* name, int (*hold)(int), int milliseconds) {
    sem_init(&told_, 0, 0);
    sem_init(&has_it_, 0, 0);
    std::thread([=, this] {
      target::name_thread(name);
      while (true) {
        sem_wait(&told_);
        pthread_mutex_lock(&mutex_);
        sem_post(&has_it_);
        hold(milliseconds);
        pthread_mutex_unlock(&mutex_);
      }
    }).detach();
  }
  void take() {
    sem_post(&told_);
    sem_wait(&has_it_);
  }
  pthread_mutex_t* mutex() { return &mutex_; }

 private:
  sem_t told_, has_it_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace

TARGET_FRAME std::int64_t want_cache(pthread_mutex_t* mutex) {
  const std::int64_t begin = target::now_ns();
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
  return target::now_ns() - begin;
}

TARGET_FRAME std::int64_t want_journal(pthread_mutex_t* mutex) {
  const std::int64_t begin = target::now_ns();
  pthread_mutex_lock(mutex);
  pthread_mutex_unlock(mutex);
  return target::now_ns() - begin + 0;
}

namespace {

Holder* cleaner = nullptr;
Holder* flusher = nullptr;
std::int64_t journal_ns = 0;
std::int64_t cache_ns[2] = {};

}  // namespace

TARGET_FRAME int handle_call(int number) {
  const bool is_tenth = number % 10 == 0;
  cleaner->take();
  cache_ns[is_tenth ? 0 : 1] += want_cache(cleaner->mutex());
  if (!is_tenth) return number + 1;
  flusher->take();
  journal_ns += want_journal(flusher->mutex());
  return number;
}

int main() {
  static Holder cleans("cleaner", clean_cache, 2);
  static Holder flushes("flusher", flush_journal, 8);
  cleaner = &cleans;
  flusher = &flushes;
  target::say("ready");
  char line[64];
  while (target::read_line(line, sizeof line)) {
    if (!std::string_view(line).starts_with("serve ")) return 2;
    const int count = std::atoi(line + 6);
    for (int number = 0; number < count; ++number) handle_call(number);
    const std::string said = std::to_string(journal_ns) + " " + std::to_string(cache_ns[0]) + " " +
                             std::to_string(cache_ns[1]);
    target::say(said.c_str());
  }
  _exit(0);
}
