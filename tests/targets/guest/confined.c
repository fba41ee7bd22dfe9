/* confined CMD [ARG…]: runs CMD as an unprivileged program in a default container sees the world.
 * As root it empties the bounding set and becomes nobody; then, in any case: no new privileges, and
 * a seccomp filter that answers ptrace, process_vm_readv, process_vm_writev, perf_event_open and
 * bpf with EPERM. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned kNobody = 65534;

#if defined(__x86_64__)
#define TARGET_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define TARGET_AUDIT_ARCH AUDIT_ARCH_AARCH64
#endif

#define REFUSE(call)                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static int fail(const char* what) {
  fprintf(stderr, "confined: %s: %s\n", what, strerror(errno));
  return 125;
}

static int drop_privileges(void) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) return -1;
  }
  if (setgroups(0, NULL) != 0) return -1;
  if (setresgid(kNobody, kNobody, kNobody) != 0) return -1;
  return setresuid(kNobody, kNobody, kNobody);
}

static int install_filter(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TARGET_AUDIT_ARCH, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      REFUSE(SYS_ptrace),
      REFUSE(SYS_process_vm_readv),
      REFUSE(SYS_process_vm_writev),
      REFUSE(SYS_perf_event_open),
      REFUSE(SYS_bpf),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fputs("usage: confined CMD [ARG...]\n", stderr);
    return 125;
  }
  if (geteuid() == 0 && drop_privileges() != 0) return fail("dropping privileges");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("no_new_privs");
  if (install_filter() != 0) return fail("seccomp");
  execvp(argv[1], argv + 1);
  return fail(argv[1]);
}
