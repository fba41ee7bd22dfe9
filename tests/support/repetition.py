"""Facts about what recordings happen to meet, judged on more and more of them.

A busy machine may keep a thread, or the control thread, from a CPU for the whole of a recording.
What must never be seen is asserted on each recording. What must be seen is judged on all recordings
so far, again and again until it holds:

* That something is seen at all. Chance cannot make it hold: only what was recorded can.
* A share (assert_share). One that truly lies above its bound gets there, with a standard error that
  shrinks with each recording. One of half the bound passes less than once in 10^6 runs.

A false failure needs a machine that gives the program nothing for all of DEADLINE_SECONDS. Bounds
lie at half of what an idle machine shows or lower.
"""

import math

from support import deadline

DEADLINE_SECONDS = 4 * deadline.DEADLINE_SECONDS

# Judgements in one run: each takes a recording, of half a second or more.
_MOST_JUDGEMENTS = 2 * DEADLINE_SECONDS
_FALSE_PASSES = 1e-6


def samples_needed(bound):
    """Samples with which a true share of half the bound shows as more than the bound in less than
    _FALSE_PASSES of all runs. Source: Chernoff's bound, P(share of n > b) < exp(-n D(b || b/2)) with
    D the relative entropy, times the number of judgements. Samples count as independent."""
    entropy = bound * math.log(2) + (1 - bound) * math.log((1 - bound) / (1 - bound / 2))
    return math.ceil(math.log(_MOST_JUDGEMENTS / _FALSE_PASSES) / entropy)


def assert_share(case, part, whole, bound):
    """More than `bound` (0 to 1, exclusive) of `whole` samples are in `part`, and there are enough."""
    case.assertGreaterEqual(whole, samples_needed(bound), "too few samples to judge their share")
    case.assertGreater(part, whole * bound)


def until_it_holds(more, judge):
    """more() takes a recording and asserts what holds for each; judge() asserts what holds for all."""
    last = []

    def holds():
        more()
        try:
            judge()
        except AssertionError as error:
            last[:] = [error]
            return False
        return True

    try:
        deadline.wait_until(holds, "a fact about many recordings", DEADLINE_SECONDS)
    except deadline.DeadlineExceeded:
        raise last[0] from None
