"""Facts about what recordings happen to meet, judged on more and more of them.

A busy machine may keep a thread, or the control thread, from a CPU for the whole of a recording.
What must never be seen is asserted on each recording. What must be seen often enough is judged on
all recordings so far, again and again until it holds: a share that truly lies above its bound gets
there, with a standard error that shrinks with each recording, and a share that is truly below stays
below. A false failure needs a machine that gives the program nothing for all of DEADLINE_SECONDS; a
defect that moves a share across its bound passes only if chance alone carries one of the first few
judgements over it, so bounds lie at half of what an idle machine shows or lower.
"""

from support import deadline

DEADLINE_SECONDS = 4 * deadline.DEADLINE_SECONDS


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
