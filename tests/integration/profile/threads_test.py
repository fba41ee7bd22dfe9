"""Threads and processes that are created during the recording; fork without exec."""

import unittest

from support import profiles
from support.case import SwiprCase


def samples_in_late_hot(stacks):
    return profiles.total(s for s in stacks if s.thread == "late thread" and "late_hot" in s.frames)


class ThreadsCase(SwiprCase):
    def check_late_thread(self, build):
        target = self.start_target(f"spawner_{build}")
        running, data = self.start_streaming(target.pid, "--interval", "2ms")
        target.send("late thread\n")
        self.assertEqual(target.read_line(), "spawned")
        path = self.finish_streaming_when(running, data, lambda stacks: samples_in_late_hot(stacks) >= 50)
        for fmt in ("collapsed", "perf", "pprof"):
            stacks = self.convert(path, fmt, "--weight", "cpu")
            with self.subTest(build=build, format=fmt):
                self.assertGreater(profiles.share(stacks, "late_hot", among=("late thread",)), 90)

    def check_fork(self, build):
        target = self.start(self.target_path(f"forker_{build}"), preloaded=True)
        word, child = target.read_line().split()
        self.assertEqual(word, "child")
        self.assertEqual(target.read_line(), "ready")
        child = int(child)
        self.wait_for_socket(target.pid)
        self.wait_for_socket(child)
        self.assertEqual({entry["pid"] for entry in self.listed()}, {target.pid, child})
        stacks = self.convert(self.record(child, "--count", 150, "--interval", "2ms"), "collapsed", "--weight", "cpu")
        self.assertGreater(profiles.share(stacks, "child_hot"), 90)
        stacks = self.convert(self.record(target.pid, "--count", 10, "--interval", "2ms"), "collapsed")
        self.assertFalse(profiles.has_function(stacks, "child_hot"))
        self.assertTrue(profiles.has_function(stacks, "wait"))
        self.assertEqual(target.end().code, 0)


class ThreadsTest(ThreadsCase):
    def test_thread_created_while_recording(self):
        self.check_late_thread("nofp")

    def test_forked_child_is_recorded_on_its_own(self):
        self.check_fork("nofp")

    def test_list_shows_what_can_be_recorded(self):
        target = self.start_target("blocked_nofp")
        (entry,) = self.listed()
        self.assertEqual(entry["pid"], target.pid)
        self.assertIn("blocked_nofp", entry["command"])
        table = self.swipr("list").out.decode()
        self.assertIn(str(target.pid), table)
        self.assertIn("blocked_nofp", table)
        self.assertIn(str(self.socket_of(target.pid)), table)

    def test_list_removes_sockets_that_were_left_behind(self):
        target = self.start_target("killer_nofp")
        path = self.socket_of(target.pid)
        target.send("kill\n")
        target.wait()
        self.assertTrue(path.exists(), "SIGKILL leaves the socket")
        self.assertEqual(self.listed(), [])
        self.assertFalse(path.exists())

    def test_a_program_that_exits_takes_its_socket_along(self):
        killer = self.start_target("killer_nofp")
        killer.send("exit\n")
        killer.wait()
        self.assertFalse(self.socket_of(killer.pid).exists())


if __name__ == "__main__":
    unittest.main()
