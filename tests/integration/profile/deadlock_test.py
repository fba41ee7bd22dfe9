"""Deadlocks are named; what only looks like one in a moment is not."""

import json
import unittest

from support import products, sampling
from support.case import SwiprCase

MUTEX_BYTES = 40 if products.IS_X86_64 else 48  # sizeof(pthread_mutex_t)


@sampling.sampled
class DeadlockTest(SwiprCase):
    def report(self, *arguments, seconds=4, interval="2ms", options=()):
        """The report of a program that runs `deadlock` with these arguments: JSON, text, its own words."""
        target = self.start_target("deadlock_nofp", *arguments)
        path = self.record(target.pid, "--duration", f"{seconds}s", "--interval", interval,
                           "--max-overhead", "100%", *options)
        finished = target.end()
        return (json.loads(self.swipr("report", "--weight", "wall", "--json", path).out), self.swipr("report", path).out.decode(),
                finished.out.decode())

    def test_two_threads(self):
        report, text, _ = self.report("cycle", 2)
        deadlock, = report["deadlocks"]
        self.assertEqual([wait["name"] for wait in deadlock["waits"]], ["worker-1", "worker-2"])
        self.assertEqual([wait["lock"] for wait in deadlock["waits"]],
                         [f"mutex (anonymous namespace)::mutexes+{MUTEX_BYTES:#x} in want_next",
                          "mutex (anonymous namespace)::mutexes in want_next"])
        self.assertGreater(deadlock["waited_ns"], 1e9)
        one, two = (wait["tid"] for wait in deadlock["waits"])
        self.assertRegex(text, rf"(?m)^deadlock: worker-1 {one} waits for the mutex \S+ \S+ in want_next, held by "
                               rf"worker-2 {two}, which waits for the mutex \S+ \S+ in want_next, held by worker-1 {one} "
                               r"\(for \d\.?\d* s\)$")

    def test_five_threads_in_short_recordings(self):
        for options in ((), ("--mode", "offcpu")):
            report, text, _ = self.report("cycle", 5, seconds=3, interval="10ms", options=options)
            deadlock, = report["deadlocks"]
            self.assertEqual([wait["name"] for wait in deadlock["waits"]], [f"worker-{n}" for n in range(1, 6)])
            self.assertEqual(text.count("deadlock:"), 1)

    def test_writers_of_read_write_locks(self):
        report, _, _ = self.report("write", 3)
        deadlock, = report["deadlocks"]
        self.assertEqual([wait["name"] for wait in deadlock["waits"]], [f"worker-{n}" for n in range(1, 4)])
        self.assertRegex(deadlock["waits"][1]["lock"], r"^rwlock .*rwlocks\+0x70 in want_next_file$")

    def test_what_is_none(self):
        for arguments in (("write_timed", 2), ("timed", 2), ("back_off", 2), ("hand_over", 2)):
            report, text, said = self.report(*arguments)
            self.assertNotIn("deadlocks", report, arguments)
            self.assertNotIn("deadlock:", text)
            seen = {function["function"] for function in report["functions"]}
            self.assertTrue(seen & {"want_next_today", "want_next_file_today", "try_next", "want_both"}, arguments)
            # Who only tries waits for nobody.
            self.assertEqual("mutexes" in report, arguments[0] in ("timed", "hand_over"), arguments)
            self.assertEqual("rwlocks" in report, arguments[0] == "write_timed", arguments)
        self.assertGreater(int(said.split()[1]), 100)


if __name__ == "__main__":
    unittest.main()
