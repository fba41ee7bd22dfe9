"""Long suites draw their cases: some in each run, all of them over some days of commits.

scripts/test sets SWIPR_SAMPLE_SEED to a number made from the commit's hash and prints it. Without
it the seed is fixed, so that runs by hand repeat each other. tests/fuzz/replay_main.cc and
tests/readers/live_page.mjs read the same variable; scripts/tidy draws its files by it.
"""

import hashlib
import os
import unittest

VARIABLE = "SWIPR_SAMPLE_SEED"
_BY_HAND = 20


def seed():
    return int(os.environ.get(VARIABLE) or _BY_HAND)


def draw(cases, one_in):
    """The cases of this run, in their order: each with a chance of 1 / `one_in` that depends on the
    seed and on its text alone, and one of them at least. A case is missed by n seeds in a row with
    probability (1 - 1 / one_in)^n: of eight, by 100 commits with 1.6e-6."""
    cases = list(cases)
    ranks = [_rank(case) for case in cases]
    drawn = [case for case, rank in zip(cases, ranks) if rank % one_in == 0]
    return drawn or [case for case, rank in zip(cases, ranks) if rank == min(ranks)]


def sampled(case):
    """Decorates a TestCase: half of its tests run. By hand, without the variable, all do."""
    if VARIABLE in os.environ:
        names = [name for name in vars(case) if name.startswith("test_")]
        for name in set(names) - set(draw(names, 2)):
            setattr(case, name, unittest.skip("not drawn for this commit")(vars(case)[name]))
    return case


def _rank(case):
    digest = hashlib.sha256(f"{seed()} {case}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
