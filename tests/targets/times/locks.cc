// locks: one thread waits for a mutex, again and again, while two others hold it one after the
// other. The first passes it to the second while the third sleeps. When it ends, it says how long
// the third waited for each of the two: "first NANOSECONDS second NANOSECONDS". Its argument
// may be "robust" or "inheriting", the mutex's kind, or "timed": the third waits with a time limit.
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <string_view>
#include <thread>

#include "tests/targets/target.h"

namespace {

pthread_mutex_t mutex;
bool is_timed = false;  // the third thread's wait
pthread_barrier_t begin_of_round;
pthread_barrier_t end_of_round;
std::atomic<bool> stop{false};
std::int64_t wanted_ns = 0;   // when the third began to wait in this round
std::int64_t passed_ns = 0;   // when the first let the mutex go
std::int64_t entered_ns = 0;  // when the third got it
std::int64_t first_ns = 0;
std::int64_t second_ns = 0;

}  // namespace

TARGET_FRAME int hold_first(int milliseconds) {
  target::sleep_ms(milliseconds);
  return milliseconds + 1;
}

TARGET_FRAME int hold_second(int milliseconds) {
  target::sleep_ms(milliseconds);
  return milliseconds + 2;
}

TARGET_FRAME int enter_lock(int round) {
  if (!is_timed) return pthread_mutex_lock(&mutex) + round;
  timespec end{};
  clock_gettime(CLOCK_REALTIME, &end);
  constexpr time_t kDay = 86400;
  end.tv_sec += kDay;
  return pthread_mutex_timedlock(&mutex, &end) + round;
}

namespace {

// The mutex goes to who waits longest: to the second thread, then to the third.
template <typename Round>
std::thread run_rounds(const char* name, Round round) {
  return std::thread([name, round] {
    target::name_thread(name);
    while (true) {
      pthread_barrier_wait(&begin_of_round);
      if (stop.load()) return;
      round();
      pthread_barrier_wait(&end_of_round);
    }
  });
}

void round_of_first() {
  pthread_mutex_lock(&mutex);
  hold_first(45);
  passed_ns = target::now_ns();
  pthread_mutex_unlock(&mutex);
}

void round_of_second() {
  target::sleep_ms(5);
  pthread_mutex_lock(&mutex);
  hold_second(70);
  pthread_mutex_unlock(&mutex);
}

void round_of_third() {
  target::sleep_ms(15);
  wanted_ns = target::now_ns();
  enter_lock(0);
  entered_ns = target::now_ns();
  pthread_mutex_unlock(&mutex);
}

void make_mutex(std::string_view kind) {
  is_timed = kind == "timed";
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (kind == "robust") pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  if (kind == "inheriting") pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace

int main(int count, char** arguments) {
  make_mutex(count > 1 ? arguments[1] : "");
  pthread_barrier_init(&begin_of_round, nullptr, 4);
  pthread_barrier_init(&end_of_round, nullptr, 4);
  std::thread threads[] = {run_rounds("first", round_of_first),
                           run_rounds("second", round_of_second),
                           run_rounds("third", round_of_third)};
  std::thread reader([] {
    target::wait_for_stdin_end();
    stop = true;
  });
  target::say("ready");
  while (!stop.load()) {
    pthread_barrier_wait(&begin_of_round);
    pthread_barrier_wait(&end_of_round);
    first_ns += passed_ns - wanted_ns;
    second_ns += entered_ns - passed_ns;
  }
  pthread_barrier_wait(&begin_of_round);
  for (std::thread& thread : threads) thread.join();
  reader.join();
  std::printf("first %lld second %lld\n", static_cast<long long>(first_ns),
              static_cast<long long>(second_ns));
  return 0;
}
