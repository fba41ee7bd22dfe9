"""Profiles in stores: what strict stand-ins of Pyroscope and Parca take of swipr's files."""

import subprocess
import sys
import unittest

from support import engines
from support.case import SwiprCase


class StoresTest(SwiprCase):
    def setUp(self):
        super().setUp()
        self.engines = engines.Engines()
        self.addCleanup(self.engines.close)

    def record_two_processes(self):
        path = self.folder / "two.swipr"
        finished = self.swipr("record", "--count", "40", "--interval", "2ms", "-o", path, "--",
                              "sh", "-c", "seq 300000 >/dev/null & seq 300000 >/dev/null; wait")
        self.assertEqual(finished.code, 0, finished)
        return path

    def test_stand_ins_answer_as_the_servers_do(self):
        done = subprocess.run([sys.executable, "-B", str(engines.CASES), self.engines.url], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_parca_takes_a_profile_of_several_processes(self):
        profile = self.swipr("convert", self.record_two_processes(), "--format", "pprof").out
        self.assertEqual(self.engines.push_parca(profile), (200, "{}"))

    def test_pyroscope_makes_one_series_of_a_profile_without_labels(self):
        path = self.record_two_processes()
        totals = []
        for labels in ("all", "none"):
            profile = self.swipr("convert", path, "--format", "pprof", "--pprof-labels", labels).out
            self.assertEqual(self.engines.push_pyroscope(profile), (200, "{}"))
            received = self.engines.received()[-1]
            totals.append({name: of_type["total"] for name, of_type in received["types"].items()})
            if labels == "none":
                self.assertEqual(received["series_per_type"], 1)
            else:
                self.assertGreater(received["series_per_type"], 1)
        self.assertEqual(*totals)
        self.assertGreater(totals[0]["cpu/nanoseconds"], 0)


if __name__ == "__main__":
    unittest.main()
