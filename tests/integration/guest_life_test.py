"""Descriptors, children, memory, ends: a program notices none of swipr's."""

import signal
import unittest

from support.guest import GuestCase

TARGET = "guest_life_nofp"


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
        # Images that live for less than 10 ms leave the socket of the one before.
        recorded, _ = self.run_recorded(TARGET, "exec_storm")
        self.assertEqual((recorded.code, recorded.out), (0, b"failed: 0\n"), recorded.err)

    def test_subreaper_adopts_its_own_only(self):
        self.assertEqual(self.check("double_fork"), ["read: 1", "adopted: 9"])

    def test_children_that_share_memory(self):
        self.check("bare_clones")

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

    def test_ends_by_signals(self):
        for way, number in (("abort", signal.SIGABRT), ("fault", signal.SIGSEGV), ("killed", signal.SIGKILL), ("terminated", signal.SIGTERM)):
            with self.subTest(way):
                self.assertEqual(self.run_plain(TARGET, way).code, -number)
                self.assertEqual(self.run_plain(TARGET, way, preloaded=True).code, -number)
                recorded, _ = self.run_recorded(TARGET, way)
                self.assertEqual(recorded.code, 128 + number)


if __name__ == "__main__":
    unittest.main()
