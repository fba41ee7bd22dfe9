// Calls whose results a program could see change if another thread and handler are in it, built with
// musl-gcc. Prints what is wrong; ends as its first argument says.
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;
static volatile sig_atomic_t caught;

static void check(const char* what, int holds) {
  if (!holds) printf("%s\n", what);
}

static void on_signal(int number) { caught = number; }

static void* spin(void* unused) {
  (void)unused;
  for (;;) pthread_testcancel();
}

static void* nap(void* unused) {
  (void)unused;
  const struct timespec pause = {0, 100000000};
  return nanosleep(&pause, NULL) == 0 ? NULL : PTHREAD_CANCELED;
}

static void* compute(void* result) {
  volatile unsigned long sum = 0;
  for (int i = 0; i < 20000000; i++) sum += (unsigned long)i;
  return nap(NULL) == NULL && sum != 0 ? result : NULL;
}

static int code_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_threads(void) {
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, spin, NULL);
  usleep(20000);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  check("cancel", result == PTHREAD_CANCELED);
  pthread_create(&thread, NULL, nap, NULL);
  pthread_join(thread, &result);
  check("nanosleep", result == NULL);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 8192);
  pthread_create(&thread, &small, compute, &small);
  pthread_join(thread, &result);
  check("a small stack", result == &small);
}

static void check_signals(void) {
  struct sigaction action = {.sa_handler = on_signal};
  struct sigaction before;
  sigaction(SIGURG, NULL, &before);
  check("disposition of SIGURG", before.sa_handler == SIG_DFL);
  sigaction(SIGURG, &action, &before);
  raise(SIGURG);
  check("handler of SIGURG", caught == SIGURG);
  sigaction(SIGURG, &before, NULL);
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &alarms, NULL);
  raise(SIGUSR1);
  int number = 0;
  check("sigwait", sigwait(&alarms, &number) == 0 && number == SIGUSR1);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  struct timespec due;
  clock_gettime(CLOCK_REALTIME, &due);
  due.tv_sec += 1;
  check("sem_timedwait", sem_timedwait(&semaphore, &due) == -1 && errno == ETIMEDOUT);
}

static void check_processes(void) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    void* result = PTHREAD_CANCELED;
    if (pthread_create(&thread, NULL, nap, NULL) == 0) pthread_join(thread, &result);
    _exit(result == NULL ? 7 : 1);
  }
  check("fork", code_of(child) == 7);
  check("system", system("exit 5") == 5 << 8);
  char* command[] = {"sh", "-c", "exit 6", NULL};
  pid_t spawned = 0;
  check("posix_spawn", posix_spawn(&spawned, "/bin/sh", NULL, NULL, command, environ) == 0 &&
                           code_of(spawned) == 6);
}

int main(int argc, char** argv) {
  const char* const end = argc > 1 ? argv[1] : "";
  check_threads();
  check_signals();
  check_processes();
  if (geteuid() == 0) {  // musl asks every thread to change its ids
    check("setuid", setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0 &&
                        getuid() == 65534 && geteuid() == 65534);
  }
  puts("end");
  fflush(stdout);
  if (strcmp(end, "quick_exit") == 0) quick_exit(11);
  if (strcmp(end, "_exit") == 0) _exit(12);
  if (strcmp(end, "pthread_exit") == 0) pthread_exit(NULL);
  return 13;
}
