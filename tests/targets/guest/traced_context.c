/* Publishes the thread context of OpenTelemetry as its SDKs do (OTEP 4947). The variable is in this
 * program, or with -DIN_LIBRARY in a library, which is this file with -DIS_LIBRARY.
 * A thread burns CPU time, three quarters of it for trace 11… and a quarter for 22…, one sleeps
 * with 33…, one has a record that is not valid, one has none. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

struct context {
  uint8_t trace_id[16];
  uint8_t span_id[8];
  uint8_t valid;
  uint8_t trace_flags;
  uint16_t attributes_size;
};

#if defined(IS_LIBRARY) || !defined(IN_LIBRARY)
__attribute__((visibility("default"))) __thread struct context* otel_thread_ctx_v1 = NULL;
#else
extern __thread struct context* otel_thread_ctx_v1;
#endif

#ifdef IS_LIBRARY
void set_context(struct context* context) { otel_thread_ctx_v1 = context; }
#else
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef IN_LIBRARY
void set_context(struct context* context);
#else
static void set_context(struct context* context) { otel_thread_ctx_v1 = context; }
#endif

static volatile int stop;
static volatile unsigned long sink;

static struct context make(uint8_t byte, uint8_t valid) {
  struct context context;
  memset(&context, 0, sizeof context);
  memset(context.trace_id, byte, sizeof context.trace_id);
  memset(context.span_id, byte + 1, sizeof context.span_id);
  context.valid = valid;
  return context;
}

static void burn(long ns) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const long end = now.tv_sec * 1000000000L + now.tv_nsec + ns;
  while (now.tv_sec * 1000000000L + now.tv_nsec < end) {
    for (int i = 0; i < 1000; ++i) sink += (unsigned long)i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  }
}

static void* work(void* unused) {
  struct context first = make(0x11, 1);
  struct context second = make(0x22, 1);
  (void)unused;
  for (long round = 0; !stop; round = (round + 7) % 100) {
    set_context(&first);
    burn(300000 + 3000 * round);
    set_context(&second);
    burn(100000 + 1000 * round);
  }
  set_context(NULL);
  return NULL;
}

static void* wait_with(void* context) {
  set_context(context);
  while (!stop) usleep(20000);
  set_context(NULL);
  return NULL;
}

int main(void) {
  struct context asleep = make(0x33, 1);
  struct context invalid = make(0x44, 0);
  pthread_t threads[4];
  char byte;
  pthread_create(&threads[0], NULL, work, NULL);
  pthread_create(&threads[1], NULL, wait_with, &asleep);
  pthread_create(&threads[2], NULL, wait_with, &invalid);
  pthread_create(&threads[3], NULL, wait_with, NULL);
  pthread_setname_np(threads[1], "asleep");
  pthread_setname_np(threads[2], "invalid");
  pthread_setname_np(threads[3], "none");
  puts("ready");
  fflush(stdout);
  while (read(0, &byte, 1) > 0) {
  }
  stop = 1;
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return 0;
}
#endif
