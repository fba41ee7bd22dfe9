"""Who holds the mutex that a thread waits for, also when it passes to another while the thread sleeps."""

import json
import unittest

from support import raw
from support.case import SwiprCase

MUTEX = 6  # RuntimeWait::kMutex


class LocksTest(SwiprCase):
    def test_holders_of_a_mutex(self):
        text = self.check_holders()
        self.assertRegex(text, r"threads waited \d+\.\d+ s for mutexes, ")
        self.assertRegex(text, r"% +mutex .*\bmutex in enter_lock +while hold_second held it")

    def test_holders_of_other_mutexes(self):
        """In the C library these waits end in functions of other names, or of none."""
        for kind in ("robust", "inheriting", "timed"):
            with self.subTest(kind=kind):
                self.check_holders(kind)

    def check_holders(self, *kind):
        """The text of its report."""
        target = self.start_target("locks_nofp", *kind)
        path = self.record(target.pid, "--count", 2000, "--interval", "2ms", "--max-overhead", "100%")
        finished = target.end()
        words = finished.out.decode().split()
        truth = dict(zip(words[0::2], map(int, words[1::2])))
        report = json.loads(self.swipr("report", "--json", path).out)
        holders = {(h["lock"], h["function"]): h["waited_ns"] for h in report["mutexes"]["holders"]}
        third = {name: holders.get(("enter_lock", f"hold_{name}"), 0) for name in truth}
        waited = sum(ns for (lock, _), ns in holders.items() if lock == "enter_lock")
        self.assertGreater(sum(third.values()), 0.95 * waited, holders)
        # The end of the first one's time is seen at the next tick; a busy machine delays ticks.
        share = truth["first"] / sum(truth.values())
        self.assertAlmostEqual(third["first"] / sum(third.values()), share, delta=0.1)
        return self.swipr("report", path).out.decode()

    def test_other_waits_have_no_holder(self):
        """Condition variables, semaphores and others use futexes, too."""
        target = self.start_target("blocked_nofp")
        path = self.record(target.pid, "--count", 20, "--interval", "2ms")
        self.assertEqual(target.end().code, 0)
        (source,) = raw.read(path.read_bytes()).values()
        report = json.loads(self.swipr("report", "--json", path).out)
        # The main thread holds the one mutex, and reads.
        self.assertEqual([h["function"] for h in report["mutexes"]["holders"]], ["main"], source)


if __name__ == "__main__":
    unittest.main()
