"""Shares of CPU time are true in every format: 70, 20 and 10 per cent, by construction of the target."""

import unittest

from support import profiles
from support.case import SwiprCase

WORKERS = ("share worker 1", "share worker 2")
TRUTH = {"seventy_percent": 70, "twenty_percent": 20, "ten_percent": 10}


class SharesCase(SwiprCase):
    def check_shares(self, build):
        target = self.start_target(f"shares_{build}")
        path = self.record(target.pid, "--count", 4000, "--interval", "1ms")
        self.assertEqual(target.end().code, 0)
        for fmt in ("collapsed", "perf", "pprof"):
            stacks = self.convert(path, fmt, "--weight", "cpu")
            workers = [profiles.perf_thread_name(name) if fmt == "perf" else name for name in WORKERS]
            for worker in workers:
                self.assertGreater(profiles.share(stacks, "seventy_percent", among=(worker,)), 50)
            for function, per_cent in TRUTH.items():
                with self.subTest(build=build, format=fmt, function=function):
                    measured = profiles.share(stacks, function, among=workers)
                    self.assertAlmostEqual(measured, per_cent, delta=3)


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
