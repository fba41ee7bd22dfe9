// deadlock: threads that wait for each other's mutexes.
//   cycle N    N threads, each of which has a mutex and wants that of the next one: a deadlock
//   timed N    the same, but each gives up after a day
//   write N    the same with read-write locks: each has one for writing, and wants to read the next
//              one, the last thread to write it
//   write_timed N    the same, but each gives up after a day
//   back_off   two threads want each other's mutex, but only try to get it, and let go of their own
//   hand_over  two threads with two mutexes: one waits for what the other holds, which lets go of
//   it
//              and at once waits for what the first one holds, a hundred times a second and more
// "ready" is printed when all threads have a mutex of their own. Those of a deadlock never end: the
// program ends with the input.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/targets/target.h"

namespace {

constexpr unsigned kMaxThreads = 8;
pthread_mutex_t mutexes[kMaxThreads];
pthread_rwlock_t rwlocks[kMaxThreads];
pthread_barrier_t barrier;
std::atomic<std::uint64_t> rounds{0};

void sleep_us(int microseconds) {
  const timespec time{0, microseconds * 1000};
  nanosleep(&time, nullptr);
}

}  // namespace

TARGET_FRAME int want_next(unsigned own, unsigned count) {
  return pthread_mutex_lock(&mutexes[(own + 1) % count]) + 1;
}

TARGET_FRAME int want_next_today(unsigned own, unsigned count) {
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 86'400;
  return pthread_mutex_timedlock(&mutexes[(own + 1) % count], &end) + 1;
}

TARGET_FRAME int want_next_file(unsigned own, unsigned count) {
  pthread_rwlock_t& next = rwlocks[(own + 1) % count];
  return own + 1 == count ? pthread_rwlock_wrlock(&next) + 1 : pthread_rwlock_rdlock(&next) + 2;
}

TARGET_FRAME int want_next_file_today(unsigned own, unsigned count) {
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 86'400;
  return pthread_rwlock_timedrdlock(&rwlocks[(own + 1) % count], &end) + 1;
}

TARGET_FRAME int try_next(unsigned own, unsigned count) {
  const int failed = pthread_mutex_trylock(&mutexes[(own + 1) % count]);
  if (failed == 0) pthread_mutex_unlock(&mutexes[(own + 1) % count]);
  sleep_us(100);
  return failed + 1;
}

TARGET_FRAME int want_both(int round) {
  pthread_mutex_lock(&mutexes[1]);
  pthread_mutex_lock(&mutexes[0]);  // which the other thread holds at first
  ++rounds;
  pthread_mutex_unlock(&mutexes[0]);
  pthread_mutex_unlock(&mutexes[1]);
  return round + 1;
}

TARGET_FRAME int want_second(int round) {
  sleep_us(2000);
  pthread_mutex_unlock(&mutexes[0]);
  pthread_mutex_lock(&mutexes[1]);
  pthread_mutex_unlock(&mutexes[1]);
  return round + 1;
}

namespace {

void run_cycle(unsigned own, unsigned count, bool is_timed) {
  pthread_mutex_lock(&mutexes[own]);
  pthread_barrier_wait(&barrier);
  is_timed ? want_next_today(own, count) : want_next(own, count);
}

void run_writers(unsigned own, unsigned count, bool is_timed) {
  pthread_rwlock_wrlock(&rwlocks[own]);
  pthread_barrier_wait(&barrier);
  is_timed ? want_next_file_today(own, count) : want_next_file(own, count);
}

void run_back_off(unsigned own, unsigned count, bool) {
  pthread_barrier_wait(&barrier);
  while (true) {
    pthread_mutex_lock(&mutexes[own]);
    for (int attempt = 0; attempt < 20 && try_next(own, count) != 1; ++attempt) {
    }
    pthread_mutex_unlock(&mutexes[own]);
    sleep_us(50);
  }
}

void run_hand_over(unsigned own, unsigned, bool) {
  for (int round = 0;; ++round) {
    if (own == 0) pthread_mutex_lock(&mutexes[0]);
    pthread_barrier_wait(&barrier);
    own == 0 ? want_second(round) : want_both(round);
    pthread_barrier_wait(&barrier);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "cycle";
  const auto count = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 2);
  if (count < 2 || count > kMaxThreads) return 2;
  for (pthread_mutex_t& mutex : mutexes) pthread_mutex_init(&mutex, nullptr);
  for (pthread_rwlock_t& rwlock : rwlocks) pthread_rwlock_init(&rwlock, nullptr);
  const bool hands_over = what == "hand_over";
  pthread_barrier_init(&barrier, nullptr, hands_over ? count : count + 1);
  const bool is_timed = what.ends_with("timed");
  const auto run = what == "back_off"          ? run_back_off
                   : hands_over                ? run_hand_over
                   : what.starts_with("write") ? run_writers
                                               : run_cycle;
  std::vector<std::thread> threads;
  for (unsigned own = 0; own < count; ++own) {
    threads.emplace_back([=] {
      target::name_thread(("worker-" + std::to_string(own + 1)).c_str());
      run(own, count, is_timed);
    });
  }
  if (!hands_over) pthread_barrier_wait(&barrier);
  target::say("ready");
  target::wait_for_stdin_end();
  std::printf("rounds %llu\n", static_cast<unsigned long long>(rounds.load()));
  std::fflush(stdout);
  _exit(0);
}
