"""Waiting for a condition until a deadline. Nothing here measures time; the deadline only turns a
hang into a failure."""

import time

DEADLINE_SECONDS = 30
_PAUSE_SECONDS = 0.005


class DeadlineExceeded(AssertionError):
    pass


def wait_until(condition, what, seconds=DEADLINE_SECONDS):
    """Returns the first true value of condition()."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise DeadlineExceeded(f"waited {seconds} s in vain for: {what}")
        time.sleep(_PAUSE_SECONDS)
