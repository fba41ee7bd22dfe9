"""Descriptors, children, memory and exit codes of a program do not change."""

import os
import pathlib
import signal
import unittest

from support import deadline, products
from support.guest import GuestCase

TARGET = "guest_life_nofp"
EXECVE, EXECVEAT = (59, 322) if products.IS_X86_64 else (221, 281)  # asm/unistd.h


class LifeTest(GuestCase):
    def check(self, way):
        return self.check_same(TARGET, way)

    def test_descriptors(self):
        self.assertIn("closefrom: 0 1 2", self.check("descriptors"))

    def test_every_open_gets_the_lowest_number(self):
        self.assertEqual(self.check("opening_threads"), ["not the lowest: 0"])

    def test_children(self):
        self.assertIn("SIGCHLD: 5", self.check("children"))

    def test_ways_to_run_another_program(self):
        self.check("ways_to_run")

    def test_exec_at_any_moment(self):
        # Images that live for less than 10 ms keep the socket of the previous image.
        recorded, _ = self.run_recorded(TARGET, "exec_storm")
        self.assertEqual((recorded.code, recorded.out), (0, b"failed: 0\n"), recorded.err)

    def test_subreaper_adopts_its_own_only(self):
        self.assertEqual(self.check("double_fork"), ["read: 1", "adopted: 9"])

    def test_children_that_share_memory(self):
        self.check("bare_clones")

    def test_unwinder_that_comes_with_a_library(self):
        said = self.check_same("late_unwinder", self.target_path("late_unwinder_library.so"))
        self.assertEqual(said, ["0 1 0"] * 3 + ["dlopen of nothing: 1"])

    def test_names(self):
        self.assertEqual(self.check("names"), ["renamed"])

    def test_memory_limits(self):
        self.assertIn("threads: 20", self.check("limits"))

    def test_exit_in_a_thread(self):
        self.check("exit_in_a_thread")

    def test_quick_exit(self):
        self.check("quick_exit")

    def test_main_thread_leaves(self):
        self.check("pthread_exit")

    def test_last_thread_ends_the_process(self):
        self.assertEqual(self.check("last_thread"), ["lastat exit"])

    def test_fork_in_a_thread(self):
        self.assertEqual(self.check("fork_in_a_thread"), ["child: 0"])

    def test_exit_without_cleaning_up(self):
        self.check("underscore_exit")

    def test_daemon(self):
        self.check("daemon")
        said = self.check("daemon_without_streams")
        self.assertEqual(said, ["daemon: 0", "cwd: /", "fd/0: /dev/null", "fd/1: /dev/null", "fd/2: /dev/null"])

    def test_ends_by_signals(self):
        for way, number in (("abort", signal.SIGABRT), ("fault", signal.SIGSEGV), ("killed", signal.SIGKILL), ("terminated", signal.SIGTERM)):
            with self.subTest(way):
                self.assertEqual(self.run_plain(TARGET, way).code, -number)
                self.assertEqual(self.run_plain(TARGET, way, preloaded=True).code, -number)
                recorded, _ = self.run_recorded(TARGET, way)
                self.assertEqual(recorded.code, 128 + number)

    def test_core_dumps(self):
        """A fatal signal that leaves a core file does so with swipr as well."""
        def status_of(way, **settings):
            environment = self.environment(settings)
            program = self.target_path(TARGET)
            quietly = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
            pid = os.posix_spawn("/usr/bin/env", ["env", "-C", self.folder, "prlimit", "--core=67108864", program, way], environment,
                                 file_actions=quietly)
            status = os.waitpid(pid, 0)[1]
            return os.WTERMSIG(status), os.WCOREDUMP(status)

        for way, number in (("abort", signal.SIGABRT), ("fault", signal.SIGSEGV)):
            plain = status_of(way)
            self.assertEqual(plain[0], number)
            self.assertEqual(status_of(way, LD_PRELOAD=str(self.preload)), plain)
            record = {"SWIPR_RECORD": str(self.folder), "SWIPR_RECORD_INTERVAL": "1ms"}
            self.assertEqual(status_of(way, LD_PRELOAD=str(self.preload), **record), plain)

    def test_no_socket_file_stays_behind_an_exec(self):
        """An image that ends before it listens, or does not load the library, cannot remove the socket of the previous one."""
        for command in ("exec true", "unset LD_PRELOAD; exec cat"):
            with self.subTest(command):
                for _ in range(10):
                    shell = self.start("/bin/sh", "-c", f"read line; {command}", preloaded=True)
                    place = self.wait_for_socket(shell.pid)
                    shell.send("go\n")
                    if "cat" in command:
                        deadline.wait_until(lambda: "cat" in pathlib.Path(f"/proc/{shell.pid}/comm").read_text(), "the next image")
                        self.assertFalse(place.exists())
                    self.assertEqual(shell.end().code, 0)
                    self.assertFalse(place.exists())

    def test_an_exec_that_fails_leaves_the_program_recordable(self):
        by_number = "ctypes.CDLL(None, use_errno=True).syscall"
        ways = ("os.execv('/no/such', ['x'])", f"{by_number}({EXECVE}, b'/no/such', None, None)",
                f"{by_number}({EXECVEAT}, -100, b'/no/such', None, None, 0)")
        for way in ways:
            with self.subTest(way):
                script = f"import ctypes, os\ninput()\ntry:\n  {way}\nexcept OSError: pass\nprint('failed', flush=True)\ninput()"
                program = self.start("/usr/bin/python3", "-c", script, preloaded=True)
                place = self.wait_for_socket(program.pid)
                before = place.stat().st_ctime_ns
                program.send("go\n")
                self.assertEqual(program.read_line(), "failed")
                deadline.wait_until(lambda: place.exists() and place.stat().st_ctime_ns != before, "the socket made anew")
                self.record(program.pid, "--count", 5, "--interval", "1ms")
                program.send("end\n")
                self.assertEqual(program.end().code, 0)


if __name__ == "__main__":
    unittest.main()
