"""Programs whose period is a multiple or a divisor of the interval are profiled truly."""

import json
import unittest

from integration.profile.shares_test import effective_samples
from support import profiles, sampling
from support.case import SwiprCase

FUNCTIONS = ("seventy", "twenty", "ten")
SECONDS = 12
# Chance alone exceeds six standard errors once in 5 × 10^8 comparisons. A fixed grid is wrong by 58 points.
STANDARD_ERRORS = 6
# If more threads are runnable than there are CPUs, the clock interrupt decides which one runs, and loops in step
# with it are seen at one phase (docs/design/59-bursts-by-ticks.md). Recordings in which the program waited for a CPU
# for a larger share of the time are not judged.
MOST_WAIT = 0.3
TRIES = 3


@sampling.sampled
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
        waited = max(map(self.wait_for_cpu, paths.values()))
        return {interval: self.stacks_of_worker(path) for interval, path in paths.items()}, truth, waited

    def wait_for_cpu(self, path):
        """The share of its time that the worker was runnable and had no CPU."""
        threads = json.loads(self.swipr("report", "--json", path).out)["threads"]
        worker, = (thread for thread in threads if thread["name"] == "worker")
        return worker["runqueue_ns"] / (worker["cpu_ns"] + worker["runqueue_ns"] + worker["blocked_ns"])

    def stacks_of_worker(self, path):
        name = profiles.perf_thread_name("worker")
        return [stack for stack in self.convert(path, "perf", "--weight", "cpu") if stack.thread == name]

    def check(self, arguments, intervals, mode="wall"):
        for _ in range(TRIES):
            recorded, truth, waited = self.shares(arguments, intervals, mode)
            if waited <= MOST_WAIT:
                break
        else:
            self.skipTest(f"the program waited for a CPU for {waited:.0%} of the time")
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
