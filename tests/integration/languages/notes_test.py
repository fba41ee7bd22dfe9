"""The note about threads that are checked less often appears where threads hardly run, and nowhere else."""

import json
import unittest

from support import repetition
from support.case import SwiprCase

NOTE = "threads that used hardly any CPU time .*--max-overhead"
SUMMARY = r"threads that had hardly run were skipped in [\d,]+ ticks? \(overhead limit\)"
# Far below what ticks at this rate cost: the limit is always exceeded.
LIMITS = ("--rate", "1000", "--max-overhead", "0.1%")


class OverheadNoteTest(SwiprCase):
    def record_over_the_limit(self, *arguments):
        """What record printed, what report prints, and the process in the report."""
        path = self.folder / "notes.swipr"
        finished = self.swipr("record", *LIMITS, "-o", path, *arguments)
        report = self.swipr("report", "--json", path)
        (process,) = json.loads(report.out)["processes"]
        totals = process["totals"]
        self.assertGreater(totals["agent_cpu_ns"], 2 * 0.001 * process["duration_ns"], "the limit was not exceeded")
        return finished.err, report.err, totals

    def test_one_busy_thread_is_never_skipped(self):
        """A recording in which the thread had its CPU at each tick: while it waits for one, it hardly runs."""
        seen = {}

        def record():
            seen["all"] = self.record_over_the_limit("--", self.target_path("burn_nofp"), 500)

        def judge():
            summary, report, totals = seen["all"]
            self.assertNotRegex(summary, SUMMARY)
            self.assertNotRegex(report, NOTE)
            self.assertEqual(totals["ticks_stretched"], 0)

        repetition.until_it_holds(record, judge)

    def test_threads_that_hardly_run_are_skipped(self):
        target = self.start_target("blocked_nofp")
        summary, report, totals = self.record_over_the_limit("--pid", target.pid, "--duration", "1s")
        self.assertRegex(summary, SUMMARY)
        self.assertRegex(report, NOTE)
        self.assertGreater(totals["ticks_stretched"], 0)


if __name__ == "__main__":
    unittest.main()
