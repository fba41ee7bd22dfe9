"""Kernels that lack a system call: each is refused with ENOSYS, alone and together with the others, to
programs and to swipr itself."""

import platform
import unittest

from support import deadline, profiles, raw
from support.case import SwiprCase

# Numbers of x86-64, and the kernel that brought the call.
CALLS = {
    "process_vm_readv": 310,  # 3.2
    "kcmp": 312,  # 3.5
    "sched_setattr": 314,  # 3.14
    "sched_getattr": 315,  # 3.14
    "renameat2": 316,  # 3.15
    "getrandom": 318,  # 3.17
    "memfd_create": 319,  # 3.17
    "execveat": 322,  # 3.19
    "membarrier": 324,  # 4.3
    "copy_file_range": 326,  # 4.5
    "statx": 332,  # 4.11
    "rseq": 334,  # 4.18
    "pidfd_open": 434,  # 5.3
    "clone3": 435,  # 5.3
    "close_range": 436,  # 5.9
    "openat2": 437,  # 5.6
    "pidfd_getfd": 438,  # 5.6
    "faccessat2": 439,  # 5.8
    "epoll_pwait2": 441,  # 5.11
    "futex_waitv": 449,  # 5.16
}
# glibc stops a program if the kernel refuses this to one of its threads only.
ALL = [name for name in CALLS if name != "rseq"]


@unittest.skipUnless(platform.machine() == "x86_64", "the numbers are those of x86-64")
class OldKernelTest(SwiprCase):
    def without(self, *names):
        return (self.target_path("refusing"), ",".join(str(CALLS[name]) for name in names))

    def check_recorded(self, *names):
        target = self.start(*self.without(*names), "/usr/bin/env", f"LD_PRELOAD={self.preload}",
                            self.target_path("blocked_nofp"))
        target.wait_ready()
        self.wait_for_socket(target.pid)
        path = self.folder / "recording.swipr"
        finished = self.start(*self.without(*names), self.program, "record", "--pid", target.pid, "--count", 50,
                              "--interval", "2ms", "-o", path).end()
        self.assertEqual(finished.code, 0, finished)
        (source,) = raw.read(path.read_bytes()).values()
        self.assertGreater(source.totals["stacks_walked"], 0)
        self.assertEqual(source.totals["stacks_rooted"], source.totals["stacks_walked"])
        self.assertEqual(source.totals["calls_interrupted"], 0)
        self.assertEqual(target.end().code, 0)
        converted = self.start(*self.without(*names), self.program, "convert", path, "--format", "collapsed").end()
        self.assertEqual(converted.code, 0, converted)
        self.assertTrue(profiles.has_function(profiles.parse_collapsed(converted.out), "^poll_1$"))

    def test_each_call_alone(self):
        for name in CALLS:
            with self.subTest(name):
                self.check_recorded(name)

    def test_all_at_once(self):
        self.check_recorded(*ALL)

    def test_commands(self):
        path = self.folder / "command.swipr"
        busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
        finished = self.start(*self.without(*ALL), self.program, "record", "--rate", 1000, "-o", path, "--", "/bin/sh", "-c", busy).end()
        self.assertEqual(finished.code, 0, finished)
        self.assertGreater(sum(s.totals["samples"] for s in raw.read(path.read_bytes()).values()), 0)

    def test_answers_of_the_process_itself(self):
        """The helper process inherits what is refused."""
        target = self.start(*self.without(*ALL), "/usr/bin/env", f"LD_PRELOAD={self.preload}",
                            self.target_path("blocked_nofp"))
        target.wait_ready()
        place = self.wait_for_socket(target.pid)
        body = '{"numberOfSamples":10,"timeInterval":"2 ms","format":"collapsed"}'
        answer = self.request(place, "POST", "/sample", body=body)
        self.assertEqual(answer.status, 200, answer.text)
        self.assertTrue(profiles.has_function(profiles.parse_collapsed(answer.body), "^poll_1$"))
        self.assertEqual(target.end().code, 0)

    def test_random_names_of_sockets(self):
        place = self.folder / "{UUID}.sock"
        target = self.start(*self.without("getrandom"), "/usr/bin/env", f"LD_PRELOAD={self.preload}",
                            self.target_path("blocked_nofp"), env={"SWIPR_SERVER_URL": f"unix://{place}"})
        target.wait_ready()
        deadline.wait_until(lambda: list(self.folder.glob("*-*-*-*-*.sock")), "the socket with a random name")
        self.assertEqual(target.end().code, 0, target.err())


if __name__ == "__main__":
    unittest.main()
