"""CPU time of threads that run for microseconds between waits is accurate."""

import os
import unittest

from integration.profile.shares_test import effective_samples
from support import profiles
from support.case import SwiprCase

FUNCTIONS = ("long_bursts", "short_bursts")
# Standard error of a half: 1.0 points. What the kernel does with interrupts off, where no clock
# interrupt finds it, adds one or two: the other five are five standard errors, which chance alone
# exceeds once in 1.7 million comparisons. Asking the threads at ticks is wrong by 8 to 15.
ENOUGH_SAMPLES = 2500


class BurstsTest(SwiprCase):
    def truth(self, target):
        """Per cent of CPU time in each function, by the clocks of the target's threads."""
        finished = target.end()
        self.assertEqual(finished.code, 0)
        words = finished.out.decode().split()
        times = dict(zip(words[0::2], map(int, words[1::2])))
        return {name: 100.0 * times[name] / times["cpu"] for name in FUNCTIONS}

    def test_shares_are_true_in_recordings_of_all_time_and_of_cpu_time(self):
        # On one CPU: whoever wants to look at these threads comes when one of them leaves it.
        target = self.start_target("bursts_nofp", min(os.sched_getaffinity(0)))
        name = profiles.perf_thread_name("burster")
        limits = ("--count", 2000, "--interval", "1ms")
        stacks = {"wall": [], "cpu": []}
        while min(map(effective_samples, stacks.values())) < ENOUGH_SAMPLES:  # or ctest's timeout
            beside = self.folder / "cpu.swipr"
            cpu = self.start_swipr("record", "--pid", target.pid, "-o", beside, "--mode", "cpu", *limits)
            path = self.record(target.pid, *limits)
            self.assertEqual(cpu.wait().code, 0)
            for mode, recording in (("wall", path), ("cpu", beside)):
                seen = self.convert(recording, "perf", "--weight", "cpu")
                stacks[mode] += [stack for stack in seen if stack.thread == name]
        truth = self.truth(target)
        for mode, seen in stacks.items():
            for function, per_cent in truth.items():
                with self.subTest(mode=mode, function=function):
                    self.assertAlmostEqual(profiles.share(seen, function), per_cent, delta=7)


if __name__ == "__main__":
    unittest.main()
