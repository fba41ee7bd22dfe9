"""The core tests once more as nobody, with an empty bounding set, no new privileges, and a seccomp
filter that refuses ptrace, process_vm_*, perf_event_open and bpf."""

import errno
import pathlib
import unittest

from integration.commands import command_test, http_test
from integration.guest import endings_test
from integration.languages import python_frames_test
from integration.profile import asleep_test, blocked_test, code_test, shares_test, threads_test


class ConfinedTest(
    shares_test.SharesCase,
    blocked_test.BlockedCase,
    code_test.CodeCase,
    threads_test.ThreadsCase,
    command_test.CommandCase,
    endings_test.EndingsCase,
    asleep_test.AsleepCase,
    http_test.HttpCase,
):
    confined = True
    # ptrace(PTRACE_TRACEME), and reading and writing no bytes of one's own memory, by number of the call.
    REFUSED_CALLS = (
        "import ctypes, os, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "numbers = {'x86_64': (101, 310, 311), 'aarch64': (117, 270, 271)}[platform.machine()]\n"
        "for number in numbers:\n"
        "    pid = 0 if number == numbers[0] else os.getpid()\n"
        "    print(libc.syscall(number, pid, 0, 0, 0, 0, 0), ctypes.get_errno())\n"
    )

    def test_the_launcher_confines(self):
        target = self.start_target("blocked_nofp")
        status = dict(
            line.split(":\t", 1) for line in pathlib.Path(f"/proc/{target.pid}/status").read_text().splitlines()
        )
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.assertNotEqual(status["Uid"].split()[0], "0")
        refused = self.start("/usr/bin/python3", "-c", self.REFUSED_CALLS).end().out.decode().split()
        self.assertEqual(refused, ["-1", str(errno.EPERM)] * 3)

    def test_shares(self):
        self.check_shares("nofp")

    def test_blocked_chains(self):
        self.check_chains("nofp")

    def test_blocked_chains_with_frame_pointers(self):
        self.check_chains("fp")

    def test_library_loaded_while_recording(self):
        self.check_dlopen("nofp")

    def test_thread_created_while_recording(self):
        self.check_late_thread("nofp")

    def test_forked_child(self):
        self.check_fork("nofp")

    def test_command_with_children_and_images(self):
        self.check_shell_with_two_images()

    def test_count(self):
        self.check_count()

    def test_target_is_killed(self):
        self.check_death_of_the_target("kill")

    def test_control_thread_sleeps(self):
        self.check_control_thread_sleeps()

    def test_curl(self):
        self.check_curl_lines("nofp")


if __name__ == "__main__":
    unittest.main()
