"""Programs whose period is a multiple or a divisor of the interval are profiled truly."""

import unittest

from integration.profile.shares_test import effective_samples
from support import profiles
from support.case import SwiprCase

FUNCTIONS = ("seventy", "twenty", "ten")
SECONDS = 12
# Chance alone exceeds six standard errors once in 5 × 10^8 comparisons. A fixed grid is wrong by 58 points.
STANDARD_ERRORS = 6


class LockstepTest(SwiprCase):
    def shares(self, arguments, intervals, mode="wall"):
        """What is recorded at each of the intervals, all at once, and the truth by the thread's CPU clock."""
        target = self.start_target("lockstep_nofp", *arguments)
        limits = ("--duration", f"{SECONDS}s", "--mode", mode, "--max-overhead", "100%")
        paths = {interval: self.folder / f"{interval}.swipr" for interval in intervals}
        recordings = [
            self.start_swipr("record", "--pid", target.pid, "--interval", interval, "-o", path, *limits)
            for interval, path in paths.items()
        ]
        for recording in recordings:
            self.assertEqual(recording.wait(seconds=SECONDS + 60).code, 0)
        finished = target.end()
        words = finished.out.decode().split()
        times = dict(zip(words[0::2], map(int, words[1::2])))
        truth = {name: times[name] / sum(times.values()) for name in FUNCTIONS}
        return {interval: self.stacks_of_worker(path) for interval, path in paths.items()}, truth

    def stacks_of_worker(self, path):
        name = profiles.perf_thread_name("worker")
        return [stack for stack in self.convert(path, "perf", "--weight", "cpu") if stack.thread == name]

    def check(self, arguments, intervals, mode="wall"):
        recorded, truth = self.shares(arguments, intervals, mode)
        for interval, stacks in recorded.items():
            samples = effective_samples(stacks)
            self.assertGreater(samples, 50)
            for name, share in truth.items():
                with self.subTest(target=arguments, interval=interval, mode=mode, function=name, samples=samples):
                    error = 100 * (share * (1 - share) / samples) ** 0.5
                    self.assertAlmostEqual(profiles.share(stacks, name), 100 * share, delta=STANDARD_ERRORS * error)

    def test_loops_by_the_wall_clock(self):
        self.check(("wall", 10_000), ("1ms", "5ms", "10ms", "20ms"))

    def test_fast_loops_by_the_wall_clock(self):
        self.check(("wall", 1_000), ("1ms", "10ms"))

    def test_loops_by_the_cpu_clock(self):
        self.check(("cpu", 10_000), ("1ms", "5ms", "10ms", "20ms"))


if __name__ == "__main__":
    unittest.main()
