// rwlocks: threads that wait for read-write locks which others hold, in a function each:
//   reader, writer         for a writer
//   timed_reader, timed_writer, clock_writer    the same, with a time limit of a day
//   shared_reader, shared_writer     the same in C++: std::shared_mutex
//   behind_readers         wants to write; readers hold the lock: no single thread does
//   behind_writer          wants to write what behind_late waits for, and then holds
//   behind_late            waits for a reader, which lets go when a line comes; then writes for
//   good trier                  only tries, again and again many                   waits for one of
//   20 mutexes after the other, which "holder" holds
// The main thread is called "holder" and holds everything else. The last line before the end is
// "ready"; each line of the input lets the reader of behind_late go.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/targets/target.h"

pthread_rwlock_t catalogue = PTHREAD_RWLOCK_INITIALIZER;

namespace {

constexpr int kMutexes = 20;
pthread_rwlock_t read_by_others = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t late = PTHREAD_RWLOCK_INITIALIZER;
std::shared_mutex shared;
pthread_mutex_t mutexes[kMutexes];
std::atomic<int> arrived{0};

void sleep_for_good() {
  while (true) target::sleep_ms(900);
}

timespec in_a_day(clockid_t clock) {
  timespec end{};
  clock_gettime(clock, &end);
  end.tv_sec += 86'400;
  return end;
}

}  // namespace

TARGET_FRAME int want_to_read(int x) { return pthread_rwlock_rdlock(&catalogue) + x; }
TARGET_FRAME int want_to_write(int x) { return pthread_rwlock_wrlock(&catalogue) + x; }
TARGET_FRAME int want_to_read_today(int x) {
  const timespec end = in_a_day(CLOCK_REALTIME);
  return pthread_rwlock_timedrdlock(&catalogue, &end) + x;
}
TARGET_FRAME int want_to_write_today(int x) {
  const timespec end = in_a_day(CLOCK_REALTIME);
  return pthread_rwlock_timedwrlock(&catalogue, &end) + x;
}
TARGET_FRAME int want_to_write_by_clock(int x) {
  const timespec end = in_a_day(CLOCK_MONOTONIC);
  return pthread_rwlock_clockwrlock(&catalogue, CLOCK_MONOTONIC, &end) + x;
}
TARGET_FRAME int want_shared(int x) {
  std::shared_lock lock(shared);
  return static_cast<int>(lock.owns_lock()) + x;
}
TARGET_FRAME int want_exclusive(int x) {
  std::unique_lock lock(shared);
  return static_cast<int>(lock.owns_lock()) + x;
}
TARGET_FRAME int want_from_readers(int x) { return pthread_rwlock_wrlock(&read_by_others) + x; }
TARGET_FRAME int want_late(int x) { return pthread_rwlock_wrlock(&late) + x; }
TARGET_FRAME int hold_late(int x) {
  while (x >= 0) target::sleep_ms(900);
  return x + 1;
}
TARGET_FRAME int want_from_late(int x) { return pthread_rwlock_wrlock(&late) + x; }
TARGET_FRAME int try_to_write(int x) {
  if (pthread_rwlock_trywrlock(&catalogue) == 0) pthread_rwlock_unlock(&catalogue);
  target::sleep_ms(1);
  return x + 1;
}
TARGET_FRAME int want_one_of_many(int x) {
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += 10'000'000;
  if (end.tv_nsec >= 1'000'000'000) {
    end.tv_nsec -= 1'000'000'000;
    ++end.tv_sec;
  }
  return pthread_mutex_timedlock(&mutexes[x % kMutexes], &end) + x;
}

namespace {

void start(const char* name, int (*run)(int)) {
  std::thread([name, run] {
    target::name_thread(name);
    ++arrived;
    run(0);
    sleep_for_good();
  }).detach();
}

int run_late(int x) {
  want_late(x);
  return hold_late(x);
}
int run_trier(int x) {
  while (true) x = try_to_write(x & 1);
}
int run_many(int x) {
  while (true) {
    want_one_of_many(x);
    x = (x + 1) % kMutexes;
  }
}

}  // namespace

int main() {
  target::name_thread("holder");
  pthread_rwlock_wrlock(&catalogue);
  pthread_rwlock_rdlock(&read_by_others);
  pthread_rwlock_rdlock(&late);
  shared.lock();
  for (pthread_mutex_t& mutex : mutexes) {
    pthread_mutex_init(&mutex, nullptr);
    pthread_mutex_lock(&mutex);
  }
  start("reader", want_to_read);
  start("writer", want_to_write);
  start("timed_reader", want_to_read_today);
  start("timed_writer", want_to_write_today);
  start("clock_writer", want_to_write_by_clock);
  start("shared_reader", want_shared);
  start("shared_writer", want_exclusive);
  start("behind_readers", want_from_readers);
  start("trier", run_trier);
  start("many", run_many);
  start("behind_late", run_late);
  while (arrived.load() != 11) sched_yield();
  target::sleep_ms(100);  // behind_late comes before behind_writer
  start("behind_writer", want_from_late);
  target::say("ready");
  char line[16];
  while (target::read_line(line, sizeof line)) pthread_rwlock_unlock(&late);
  _exit(0);
}
