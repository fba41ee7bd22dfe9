"""Filters, --invert, merging and --diff of convert on complete recordings: no weight is lost."""

import unittest

from support import profiles
from support.case import SwiprCase


def weights(stacks):
    """Weight by thread and frames, without what cancels out."""
    sums = {}
    for stack in stacks:
        key = (stack.thread, tuple(stack.frames))
        sums[key] = sums.get(key, 0) + stack.weight
    return {key: weight for key, weight in sums.items() if weight != 0}


class SelectionsTest(SwiprCase):
    def record_twice(self):
        """Two recordings of the same threads, which wait in known calls; the first has more ticks."""
        target = self.start_target("blocked_nofp")
        paths = [self.record(target.pid, "--count", count, "--interval", "2ms") for count in (40, 10)]
        self.assertEqual(target.end().code, 0)
        return paths

    def test_selections_lose_nothing(self):
        path, other = self.record_twice()
        for fmt in ("collapsed", "pprof"):
            every = self.convert(path, fmt, "--weight", "samples")
            whole = profiles.total(every)
            self.assertGreater(whole, 100)
            with self.subTest("one thread of all", format=fmt):
                merged = self.convert(path, fmt, "--weight", "samples", "--merge-threads")
                self.assertEqual(len({stack.thread for stack in merged}), 1)
                self.assertEqual(profiles.total(merged), whole)
            with self.subTest("before and behind a moment", format=fmt):
                before = self.convert(path, fmt, "--weight", "wall", "--to", "30ms")
                behind = self.convert(path, fmt, "--weight", "wall", "--from", "30ms")
                wall = self.convert(path, fmt, "--weight", "wall")
                self.assertLess(0, profiles.total(before))
                self.assertLess(0, profiles.total(behind))
                # Collapsed text counts whole microseconds.
                self.assertAlmostEqual((profiles.total(before) + profiles.total(behind)) / profiles.total(wall), 1,
                                       places=3)
            with self.subTest("several inputs", format=fmt):
                both = profiles.parse(
                    self.swipr("convert", path, other, "--format", fmt, "--weight", "samples").out, fmt)
                second = self.convert(other, fmt, "--weight", "samples")
                self.assertEqual(profiles.total(both), whole + profiles.total(second))

    def test_inverted_stacks_are_the_same_from_the_other_end(self):
        path, _ = self.record_twice()
        plain = weights(self.convert(path, "collapsed", "--weight", "samples"))
        inverted = weights(self.convert(path, "collapsed", "--weight", "samples", "--invert"))
        self.assertEqual({(thread, frames[::-1]): weight for (thread, frames), weight in inverted.items()}, plain)

    def test_compared_profiles_hold_both(self):
        path, other = self.record_twice()
        now, before = (weights(self.convert(one, "pprof", "--weight", "samples")) for one in (path, other))
        compared = weights(self.convert(path, "pprof", "--weight", "samples", "--diff", other))
        change = {key: now.get(key, 0) - before.get(key, 0) for key in {*now, *before}}
        self.assertEqual(compared, {key: weight for key, weight in change.items() if weight != 0})
        self.assertEqual(weights(self.convert(path, "pprof", "--weight", "samples", "--diff", path)), {})


if __name__ == "__main__":
    unittest.main()
