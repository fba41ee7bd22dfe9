/* refusing NUMBER[,NUMBER…] CMD [ARG…]: runs CMD as an older kernel would, which does not have the system
 * calls with these numbers: a seccomp filter answers them with ENOSYS. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kMaxCalls = 32 };

static unsigned short count = 0;
static struct sock_filter filter[2 * kMaxCalls + 2];

static void add(struct sock_filter instruction) { filter[count++] = instruction; }

static void refuse(unsigned number) {
  add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
  add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
}

static int fail(const char* what) {
  fprintf(stderr, "refusing: %s: %s\n", what, strerror(errno));
  return 125;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("usage: refusing NUMBER[,NUMBER...] CMD [ARG...]\n", stderr);
    return 125;
  }
  add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
  int calls = 0;
  for (char* number = strtok(argv[1], ","); number != NULL; number = strtok(NULL, ",")) {
    if (++calls > kMaxCalls) return fail("too many calls");
    refuse((unsigned)strtoul(number, NULL, 10));
  }
  add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  struct sock_fprog program = {count, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("no_new_privs");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) return fail("seccomp");
  execvp(argv[2], argv + 2);
  return fail(argv[2]);
}
