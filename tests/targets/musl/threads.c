// Threads that run and wait inside musl's libc, built with musl-gcc. Debian's libc.so of musl has no
// CFI. Ends when its input does.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static volatile double sink;

static int compare(const void* left, const void* right) {
  return *(const int*)left - *(const int*)right;
}

__attribute__((noinline)) static void sort_numbers(void) {
  static int numbers[3000];
  for (int i = 0; i < 3000; i++) numbers[i] = i * 7919 % 3001;
  qsort(numbers, 3000, sizeof numbers[0], compare);
  sink += numbers[7];
}

__attribute__((noinline)) static void format_text(void) {
  char text[200];
  for (int i = 0; i < 300; i++) sink += snprintf(text, sizeof text, "%d %s %f", i, "abc", i * 1.5);
}

static void* run_worker(void* unused) {
  (void)unused;
  for (;;) {
    sort_numbers();
    format_text();
  }
}

static void* run_sleeper(void* unused) {
  (void)unused;
  const struct timespec pause = {0, 50000000};
  for (;;) nanosleep(&pause, NULL);
}

static void* run_waiter(void* unused) {
  pthread_mutex_lock(&held);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_mutex_lock(&held);
  pthread_create(&thread, NULL, run_worker, NULL);
  pthread_create(&thread, NULL, run_sleeper, NULL);
  pthread_create(&thread, NULL, run_waiter, NULL);
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  _exit(0);
}
