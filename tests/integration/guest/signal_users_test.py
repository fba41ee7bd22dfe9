"""Programs that use the sampling signals themselves, pending or as fast as they can: they lose none
of theirs, see none of swipr's, and have stacks all the same."""

import signal
import unittest

from support import profiles, raw
from support.case import SwiprCase

TARGET = "signal_users_nofp"


class SignalUsersTest(SwiprCase):
    def record_end(self, target, *options):
        """(recording, what the program says at its end)"""
        path = self.record(target.pid, *options)
        finished = target.end()
        self.assertEqual(finished.code, 0, repr(finished))
        return path, finished.out.decode().splitlines()

    def check_has_stacks(self, env):
        target = self.start_target(TARGET, "raise", env=env)
        path, lines = self.record_end(target, "--rate", 1000, "--count", 2000)
        self.assertGreater(int(lines[0].removeprefix("raised ")), 1000)
        stacks = self.convert(path, "collapsed", "--weight", "cpu")
        self.assertLess(profiles.share(stacks, "[no stack]"), 10)
        return lines[1]

    def test_a_program_that_raises_the_signal_has_stacks_and_all_of_its_signals(self):
        self.assertEqual(self.check_has_stacks({}), "missing 0")

    def test_a_program_that_raises_the_only_signal_has_stacks(self):
        """swipr's and the program's may be merged by the kernel: either of them takes the stack."""
        self.check_has_stacks({"SWIPR_SIGNAL": str(int(signal.SIGURG))})

    def ask(self, target):
        target.send("x\n")
        lines = []
        while (line := target.read_line()) != "end":
            lines.append(line)
        return lines

    def check_pending(self, *how):
        """Two recordings, each with a beginning and an end."""
        target = self.start_target(TARGET, *how)
        before = self.ask(target)
        self.assertFalse([line for line in before if "not pending" in line])
        for _ in range(2):
            self.record(target.pid, "--rate", 1000, "--count", 100)
            self.assertEqual(self.ask(target), before)
        finished = target.end()
        self.assertEqual(finished.code, 0, repr(finished))
        lines = finished.out.decode().splitlines()
        self.assertEqual(len(lines), len(before))
        self.assertTrue(all(line.endswith("code 0 from itself") for line in lines), lines)

    def test_what_is_pending_stays(self):
        self.check_pending("pending")

    def test_what_is_pending_and_ignored_stays(self):
        self.check_pending("pending", "ignored")

    def test_what_is_pending_in_one_thread_stays(self):
        for ignored in ([], ["ignored"]):
            with self.subTest(ignored=ignored):
                self.check_pending("directed", *ignored)

    def test_a_new_image_inherits_what_is_pending(self):
        target = self.start_target(TARGET, "exec")
        recording, _ = self.start_streaming(target.pid, "--rate", 1000)
        target.send("x\n")
        lines = target.end().out.decode().splitlines()
        recording.end()
        self.assertEqual([line.split(" flags")[0] for line in lines[:2]], ["image 23: ignored", "image 28: ignored"])
        self.assertFalse([line for line in lines if "not pending" in line])
        self.assertGreaterEqual(len(lines), 4)

    def check_takes_none(self, *how):
        target = self.start_target(TARGET, "take", *how)
        path, lines = self.record_end(target, "--rate", 10_000, "--count", 20_000)
        self.assertEqual(lines, ["taken 0"])
        (source,) = raw.read(path.read_bytes()).values()
        self.assertGreater(source.totals["samples"], 0)

    def test_a_program_that_takes_the_signal_sees_none_of_swiprs(self):
        self.check_takes_none()

    def test_a_program_that_takes_all_signals_sees_none_of_swiprs(self):
        self.check_takes_none("all")


if __name__ == "__main__":
    unittest.main()
