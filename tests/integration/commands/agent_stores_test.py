"""Stores that swipr agent pushes to: what they have is what was recorded, also if they fail for a while."""

import re
import signal
import unittest

from support import deadline
from support.agent import AgentCase

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


class StoredTest(AgentCase):
    def test_stores_have_what_was_recorded_to_the_nanosecond(self):
        store = self.start_store()
        for _ in range(2):
            self.start_worker()
        self.start("cat", preloaded=True)
        for engine in ("pyroscope", "parca", "otlp"):
            with self.subTest(engine):
                self.out = self.folder / engine
                before = self.stored_cpu(store)
                self.run_agent("--slices", "3", "--slice", "1s", "--push", f"{engine}+{store.url}")
                self.assertEqual(self.stored_cpu(store) - before, self.known_cpu())
        labels = [one["labels"] for one in store.received() if one["labels"].get("service_name") == "shop"]
        self.assertTrue(labels)
        self.assertEqual(labels[0]["__name__"], "process_cpu")
        self.assertNotIn("pid", labels[0])

    def test_the_studio_has_one_profile_per_slice(self):
        store = self.start_store()
        self.start_worker()
        metadata = self.folder / "metadata"
        metadata.write_text('{"static": {"team": "pay"}}')
        self.run_agent("--slices", "2", "--slice", "1s", "--upload-results", "--server-host", store.url, "--insert-dso-name",
                       "--service-name", "shop", "--external-metadata", metadata, env={"SWIPR_PUSH_TOKEN": "key"})
        self.assertEqual([one["service"] for one in store.received()], ["shop", "shop"])
        received = store.received()[-1]
        self.assertEqual(received["header"]["metadata"]["team"], "pay")
        self.assertRegex(" ".join(received["stacks"]), r";[^;]+ \(/[^;]+\)_\[pn\];")

    def test_shares_of_functions_are_those_of_the_program_in_each_store(self):
        store = self.start_store()
        program = self.start(self.target_path("shares_nofp"), preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        for engine in ("pyroscope", "parca", "otlp", "gprofiler"):
            with self.subTest(engine):
                before = len(store.received())
                self.run_agent("--slices", "3", "--slice", "1s", "--rate", "1000", "--push", f"{engine}+{store.url}",
                               "--no-flamegraph", env={"SWIPR_PUSH_TOKEN": "key"})
                weights = self.weight_by_function(store.received()[before:])
                known = [sum(weight for name, weight in weights.items() if name.startswith(function))
                         for function in ("seventy_percent", "twenty_percent", "ten_percent")]
                for share, wanted in zip(known, (0.7, 0.2, 0.1)):  # four standard errors of 2,000 samples
                    self.assertAlmostEqual(share / sum(known), wanted, delta=0.04)

    @staticmethod
    def weight_by_function(received):
        sums = {}
        for one in received:
            if one["api"] == "studio":
                weights = [(name, weight) for stack, weight in one["stacks"].items() for name in set(stack.split(";"))]
            else:
                weights = one["types"].get("cpu/nanoseconds", {"cum": {}})["cum"].items()
            for name, weight in weights:
                sums[name] = sums.get(name, 0) + weight
        return sums


class OutageTest(AgentCase):
    def test_a_busy_store_gets_each_profile_once(self):
        store = self.start_store()
        store.fault(path="/push", status=503, times=2, headers={"Retry-After": "0"})
        self.start_worker()
        finished = self.run_agent("--slices", "3", "--slice", "1s", "--push", f"pyroscope+{store.url}")
        self.assertIn("does not accept profiles now", finished.err)
        self.assertEqual(self.stored_cpu(store), self.known_cpu())

    def test_a_store_gets_several_profiles_at_once(self):
        """Pyroscope answers after half a second."""
        store = self.start_store()
        store.fault(path="/push", times=4, together=4)
        for name in ("a", "b", "c", "d"):
            self.start_worker(env={"SWIPR_SERVICE_NAME": name})
        self.run_agent("--slices", "1", "--slice", "1s", "--push", f"pyroscope+{store.url}")
        self.assertEqual({one["labels"]["service_name"] for one in store.received()}, {"a", "b", "c", "d"})
        self.assertEqual(self.stored_cpu(store), self.known_cpu())

    def test_what_a_store_that_is_down_did_not_get_is_sent_by_the_next_agent(self):
        store = self.start_store()
        store.fault(path="/push", status=503, times=40, headers={"Retry-After": "30"})
        self.start_worker()
        self.run_agent("--slices", "2", "--slice", "1s", "--push", f"pyroscope+{store.url}")
        self.assertEqual(store.received(), [])
        store.fault(clear=True)
        self.run_agent("--slices", "1", "--slice", "1s", "--push", f"pyroscope+{store.url}")
        self.assertEqual(self.stored_cpu(store), self.known_cpu())

    def test_requests_that_a_full_spool_loses_are_counted(self):
        store = self.start_store()
        store.fault(path="/push", status=503, times=40, headers={"Retry-After": "30"})
        self.start_worker()
        metrics = self.folder / "metrics"
        finished = self.run_agent("--slices", "3", "--slice", "1s", "--push", f"pyroscope+{store.url}",
                                  "--spool-size", "3KiB", "--metrics-file", metrics)
        said = sum(map(int, re.findall(r"the spool is full, requests dropped: (\d+) to ", finished.err)))
        self.assertGreater(said, 0, finished.err)
        self.assertIn(f'outcome="spool_full"}} {said}\n', metrics.read_text())
        (spool,) = (self.folder / "spool").iterdir()
        self.assertLessEqual(sum(path.stat().st_size for path in spool.iterdir()), 3 * 1024)

    def test_a_refused_profile_is_dropped_and_said(self):
        store = self.start_store()
        store.fault(path="/push", status=400, times=1)
        self.start_worker()
        metrics = self.folder / "metrics"
        finished = self.run_agent("--slices", "2", "--slice", "1s", "--push", f"pyroscope+{store.url}",
                                  "--metrics-file", metrics)
        self.assertIn("refuses a profile: HTTP status 400", finished.err)
        self.assertIn('outcome="refused"} 1\n', metrics.read_text())

    def test_a_profile_without_an_answer_is_not_sent_again(self):
        """The store hangs up when it has read the whole request, or is silent for longer than swipr waits: it may
        have stored the profile, as it has here."""
        for name, fault in (("hangs up", {"cut": True}), ("is silent", {"delay_ms": 31000})):
            with self.subTest(name):
                store = self.start_store()
                store.fault(path="/push", times=1, **fault)
                self.out = self.folder / name
                worker = self.start_worker()
                metrics = self.folder / f"metrics of one that {name}"
                agent = self.start_agent("--slice", "2s", "--push", f"pyroscope+{store.url}", "--metrics-file", metrics)
                deadline.wait_until(lambda: metrics.exists() and 'outcome="unknown"} 1\n' in metrics.read_text(),
                                    "the broken push", seconds=60)
                agent.signal(signal.SIGTERM)
                self.assertEqual(agent.wait().code, 0, agent.err())
                worker.end()
                self.assertIn("so it may or may not be stored", agent.err())
                self.assertIn('outcome="unknown"} 1\n', metrics.read_text())
                answered = int(re.search(r'outcome="stored"} (\d+)', metrics.read_text())[1])
                deadline.wait_until(lambda: len(store.received()) > answered, "the late profile")
                self.assertEqual(self.stored_cpu(store), self.known_cpu())

    def test_after_a_day_without_the_store_it_has_what_it_takes(self):
        """Pyroscope refuses what is older than an hour."""
        store = self.start_store()
        store.fault(path="/push", status=503, times=100000, headers={"Retry-After": "1"})
        self.start_worker()
        metrics = self.folder / "metrics"
        slices = too_old = expected = 0
        for time in ("-24h", "-12h", "-40m", "-20m", ""):
            if not time:
                self.assertEqual(store.received(), [])
                store.fault(clear=True)
            self.out = self.folder / f"out{time}"
            then = {"LD_PRELOAD": FAKETIME, "FAKETIME": time, "FAKETIME_DONT_FAKE_MONOTONIC": "1"} if time else None
            self.run_agent("--slices", "2", "--slice", "1s", "--push", f"pyroscope+{store.url}", "--metrics-file", metrics, env=then)
            too_old += int(re.search(r'outcome="too_old"} (\d+)', metrics.read_text())[1])
            slices += len(self.accounts()) if time.endswith("h") else 0
            expected += 0 if time.endswith("h") else self.known_cpu()
        self.assertEqual((too_old, self.stored_cpu(store)), (slices, expected))
        (spool,) = (self.folder / "spool").iterdir()
        self.assertEqual([path for path in spool.iterdir() if path.stat().st_size > 0], [])


if __name__ == "__main__":
    unittest.main()
