"""Shares of CPU time are correct in every format: 70, 20 and 10 per cent, by construction of the target."""

import unittest

from support import profiles, sampling
from support.case import SwiprCase

WORKERS = ("share worker 1", "share worker 2")
TRUTH = {"seventy_percent": 70, "twenty_percent": 20, "ten_percent": 10}


# So many equally heavy samples put three points at five standard errors (of 70 per cent: 0.59), which
# chance alone exceeds once in 1.7 million comparisons; here are 18, in groups of the same samples.
ENOUGH_SAMPLES = 6000


def effective_samples(stacks):
    """How many equally heavy samples these are worth (Kish): late ticks make heavy ones."""
    squares = sum(stack.weight**2 for stack in stacks)
    return profiles.total(stacks) ** 2 / squares if squares else 0


class SharesCase(SwiprCase):
    def worker_names(self, fmt):
        return [profiles.perf_thread_name(name) if fmt == "perf" else name for name in WORKERS]

    def check_shares(self, build):
        target = self.start_target(f"shares_{build}")
        stacks = {"collapsed": [], "perf": [], "pprof": []}
        enough = 0
        while enough < ENOUGH_SAMPLES:  # ctest's timeout ends what never gets there
            path = self.record(target.pid, "--count", 2000, "--interval", "1ms")
            for fmt, so_far in stacks.items():
                so_far += self.convert(path, fmt, "--weight", "cpu")
            workers = self.worker_names("perf")
            enough = effective_samples([s for s in stacks["perf"] if s.thread in workers])
        self.assertEqual(target.end().code, 0)
        for fmt, measured in stacks.items():
            workers = self.worker_names(fmt)
            for worker in workers:
                self.assertGreater(profiles.share(measured, "seventy_percent", among=(worker,)), 50)
            for function, per_cent in TRUTH.items():
                with self.subTest(build=build, format=fmt, function=function):
                    share = profiles.share(measured, function, among=workers)
                    self.assertAlmostEqual(share, per_cent, delta=3)


@sampling.sampled
class SharesTest(SharesCase):
    def test_without_frame_pointers(self):
        self.check_shares("nofp")

    def test_with_frame_pointers(self):
        self.check_shares("fp")

    def test_the_three_formats_agree_to_the_nanosecond(self):
        target = self.start_target("shares_nofp")
        path = self.record(target.pid, "--count", 200, "--interval", "1ms")
        for weight in ("samples", "cpu", "wall"):
            totals = {
                fmt: profiles.total(self.convert(path, fmt, "--weight", weight))
                for fmt in ("collapsed", "perf", "pprof")
            }
            self.assertGreater(totals["collapsed"], 0, weight)
            self.assertEqual(len(set(totals.values())), 1, f"{weight}: {totals}")


if __name__ == "__main__":
    unittest.main()
