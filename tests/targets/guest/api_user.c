/* Uses include/swipr/swipr.h as commands say that arrive on standard input, one per line:
 *   present | start PATH | start_to PATH | stop | samples PATH | work | fork
 * and answers each with a line: the result, and errno if that is negative. "work" burns 100 ms of
 * CPU time in burn_here(); after "fork" the child answers. */
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/swipr/swipr.h"

static volatile unsigned long sink;

__attribute__((noinline)) static void burn_here(void) {
  const clock_t end = clock() + CLOCKS_PER_SEC / 10;
  while (clock() < end) {
    for (unsigned i = 0; i < 10000; ++i) sink += i;
  }
}

static int run(const char* command, const char* path) {
  static const struct swipr_options options = {2000, "cpu", 0};
  if (strcmp(command, "present") == 0) return swipr_is_present();
  if (strcmp(command, "start") == 0) return swipr_start_recording(path, &options);
  if (strcmp(command, "start_to") == 0) {
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const int result = swipr_start_recording_to(fd, &options);
    const int error = errno;
    close(fd);
    errno = error;
    return result;
  }
  if (strcmp(command, "stop") == 0) return swipr_stop_recording();
  if (strcmp(command, "samples") == 0) return swipr_request_samples(path, 5, 1000);
  if (strcmp(command, "work") == 0) burn_here();
  return 0;
}

int main(void) {
  char line[4096];
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    char* path;
    line[strcspn(line, "\n")] = '\0';
    path = strchr(line, ' ');
    if (path != NULL) *path++ = '\0';
    if (strcmp(line, "fork") == 0) {
      const pid_t child = fork();
      if (child > 0) {
        waitpid(child, NULL, 0);
        return 0;
      }
    }
    const int result = run(line, path != NULL ? path : "");
    printf("%d %d\n", result, result < 0 ? errno : 0);
    fflush(stdout);
  }
  return 0;
}
