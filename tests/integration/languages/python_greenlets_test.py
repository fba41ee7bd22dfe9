"""Frames of Python in greenlets, whose stacks are copied to where they run: each one has its own callers."""

import unittest

from support.python_truth import HERE, TruthCase

# Three greenlets have been left in different depths; the last one calls `here`.
GREENLETS = HERE + """
import greenlet
def deep(depth, then):
    return deep(depth - 1, then) if depth else then()
def leave():
    main.switch()
def inner():
    here()
def switching():
    for other in others: other.switch()
    greenlet.greenlet(lambda: deep(5, inner)).switch()
main = greenlet.getcurrent()
others = [greenlet.greenlet(lambda depth=depth: deep(depth, leave)) for depth in (3, 30, 300)]
switching()
"""

# A greenlet that was left returns to where it was.
RETURNED = HERE + """
import greenlet
def leave():
    main.switch()
    here()
def first(depth):
    return first(depth - 1) if depth else leave()
def second(depth):
    return second(depth - 1) if depth else one.switch()
main = greenlet.getcurrent()
one = greenlet.greenlet(lambda: first(20))
one.switch()
greenlet.greenlet(lambda: second(40)).switch()
"""

# The hub waits for all greenlets of gevent; the truth of a thread is that of its hub.
GEVENT = HERE + """
import gevent
def sleeping():
    gevent.sleep(1000)
def computing():
    here()
others = [gevent.spawn(sleeping) for _ in range(5)]
gevent.sleep(0)
gevent.spawn(computing).join()
"""


class GreenletsTest(TruthCase):
    def test_a_greenlet_has_its_own_callers(self):
        for text in (GREENLETS, RETURNED, GEVENT):
            for how in ("wait", "burn", "nap"):
                with self.subTest(text.splitlines()[-1], how=how):
                    self.check(text, how)


if __name__ == "__main__":
    unittest.main()
