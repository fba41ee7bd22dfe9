"""Profiles in stores: what strict stand-ins of Pyroscope and Parca take of swipr's files."""

import os
import pathlib
import subprocess
import sys
import unittest

from support import deadline
from support.case import SwiprCase
from support.stores import engine_cases, engines


EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"


class StoresCase(SwiprCase):
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


class StoresTest(StoresCase):
    """Files that convert makes."""

    def test_stand_ins_answer_as_the_servers_do(self):
        done = subprocess.run([sys.executable, "-B", str(engines.CASES), self.engines.url], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_parca_takes_a_profile_of_several_processes(self):
        profile = self.swipr("convert", self.record_two_processes(), "--format", "pprof").out
        self.assertEqual(self.engines.push_parca(profile), (200, "{}"))

    def test_studio_indexes_a_col_file(self):
        path = self.record_two_processes()
        col = self.swipr("convert", path, "--format", "col").out.decode()
        self.assertEqual(self.engines.push_studio(col)[0], 200)
        received = self.engines.received()[-1]
        self.assertEqual(received["header"]["metadata"]["hostname"], os.uname().nodename)
        cpu = [stack.weight for stack in self.convert(path, "collapsed", "--weight", "cpu")]
        applications = len(received["header"]["application_metadata"]) - 1
        # The counts of an application sum up to its time, in ticks of 2 ms.
        self.assertAlmostEqual(sum(received["stacks"].values()), sum(cpu) / 2e6, delta=applications)

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


class PushTest(StoresCase):
    """swipr push."""

    def push(self, path, engine, *arguments, **options):
        return self.swipr("push", path, f"{engine}+{self.engines.url}", *arguments, **options)

    def test_a_recording_goes_to_each_store(self):
        path = self.record_two_processes()
        cpu = sum(stack.weight for stack in self.convert(path, "collapsed", "--weight", "cpu"))
        for engine in ("pyroscope", "parca"):
            with self.subTest(engine):
                before = len(self.engines.received())
                said = self.push(path, engine, "--service-name", "shop", "--label", "region=eu").err
                self.assertIn(f"pushed 3 profiles to {self.engines.url}", said)
                received = {one["labels"]["__name__"]: one for one in self.engines.received()[before:]}
                self.assertEqual(set(received), {"process_cpu", "wall", "off_cpu"})
                profile = received["process_cpu"]
                self.assertEqual({name: profile["labels"][name] for name in ("service_name", "region")},
                                 {"service_name": "shop", "region": "eu"})
                self.assertEqual(set(profile["types"]), {"cpu/nanoseconds", "samples/count"})
                self.assertEqual(profile["types"]["cpu/nanoseconds"]["total"], cpu)
                self.assertEqual((profile["period_type"], profile["series_per_type"]), ("cpu", 1))
        with self.subTest("otlp"):
            before = len(self.engines.received())
            self.push(path, "otlp", "--service-name", "shop", "--label", "region=eu")
            received = self.engines.received()[before:]
            self.assertEqual([list(one["types"]) for one in received],
                             [["cpu/nanoseconds"], ["wall/nanoseconds"], ["blocked/nanoseconds"]])
            self.assertEqual(received[0]["types"]["cpu/nanoseconds"]["total"], cpu)
            self.assertEqual({name: received[0]["labels"][name] for name in ("service.name", "region")},
                             {"service.name": "shop", "region": "eu"})
        with self.subTest("gprofiler"):
            self.push(path, "gprofiler", "--service-name", "shop", env={"SWIPR_PUSH_TOKEN": "key"})
            received = self.engines.received()[-1]
            self.assertEqual(received["service"], "shop")
            self.assertAlmostEqual(sum(received["stacks"].values()), cpu / 2e6, delta=len(received["header"]["application_metadata"]))

    def test_parca_has_a_series_for_each_label_of_threads(self):
        path = self.folder / "labels.swipr"
        self.swipr("record", "--interval", "2ms", "-o", path, "--", sys.executable, EXAMPLES / "labels.py")
        self.push(path, "parca", "--thread-labels", "share")
        received = [one for one in self.engines.received() if one["labels"]["__name__"] == "process_cpu"]
        seen = {one["labels"].get("share", ""): one["types"]["cpu/nanoseconds"]["total"] for one in received}
        wanted = {value: sum(stack.weight for stack in self.convert(path, "collapsed", "--weight", "cpu", "--label", f"share={value}"))
                  for value in ("ten", "twenty", "seventy", "")}
        self.assertEqual(seen, wanted)
        self.assertGreater(min(wanted.values()), 0)

    def test_files_of_others_are_sent_as_they_are(self):
        path = self.record_two_processes()
        for suffix, engine in ((".pb.gz", "pyroscope"), (".pb.gz", "parca"), (".col", "gprofiler")):
            file = path.with_suffix(suffix)
            self.swipr("convert", path, "-o", file)
            self.push(file, engine, env={"SWIPR_PUSH_TOKEN": "key"})
        self.assertEqual([one["api"] for one in self.engines.received()], ["pyroscope", "parca", "studio"])
        self.assert_one_line_error(self.push(file, "parca", expect=None), "accepts only pprof files and recordings")
        self.assert_one_line_error(self.push(file, "otlp", expect=None), "accepts only recordings")

    def test_a_profile_that_a_store_answers_it_did_not_store_is_an_error(self):
        path = self.record_two_processes()
        partial_success = "\x0a\x10\x08\x01\x12\x0ctoo large, X"
        self.engines.fault(path="/v1development", status=200, times=1, body=partial_success,
                           headers={"Content-Type": "application/x-protobuf"})
        finished = self.push(path, "otlp", expect=None)
        self.assertNotEqual(finished.code, 0)
        self.assertIn("1 profile not stored: too large, X", finished.err)

    def test_a_busy_store_is_asked_again_and_has_each_profile_once(self):
        recording = self.record_two_processes()
        path = recording.with_suffix(".pb.gz")
        self.swipr("convert", recording, "-o", path)
        self.engines.fault(path="/push", status=429, times=3, headers={"Retry-After": "0"})
        self.push(path, "pyroscope")
        self.assertEqual(len(self.engines.received()), 1)
        self.engines.fault(path="/push", status=503, times=9, headers={"Retry-After": "0"})
        finished = self.push(path, "pyroscope", expect=None)
        self.assert_one_line_error(finished, "status 503", codes=(1,))
        self.assertEqual(len(self.engines.received()), 1)

    def test_what_a_store_refuses_is_said(self):
        path = self.folder / "old.pb.gz"
        path.write_bytes(engine_cases.pprof(age_s=7200))
        self.assert_one_line_error(self.push(path, "pyroscope", expect=None), "status 400.*ingestion window", codes=(1,))
        nobody = self.swipr("push", path, "parca+http://127.0.0.1:1", expect=None, env={"http_proxy": "socks5://x"})
        self.assert_one_line_error(nobody, "not an http", codes=(1,))

    def test_the_token_is_in_no_argument(self):
        secret = "secret-of-the-store"
        token = self.folder / "token"
        token.write_text(secret + "\n")
        self.engines.fault(path="/api", delay_ms=3000, times=1)
        path = self.record_two_processes()
        running = self.start_swipr("push", path, f"parca+{self.engines.url}", "--token-file", token)
        deadline.wait_until(lambda: b"swipr-send" in b"".join(command_lines()), "the sending program")
        self.assertNotIn(secret.encode(), b"".join(command_lines()))
        finished = running.wait()
        self.assertEqual(finished.code, 0, finished)
        self.assertNotIn(secret, finished.err)


def command_lines():
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield file.read_bytes()
        except OSError:
            pass


if __name__ == "__main__":
    unittest.main()
