"""Stores that swipr agent pushes to: what they have is what was recorded, also if they fail for a while."""

import re
import signal
import time
import unittest

from support import deadline
from support.agent import AgentCase, SpoolWatch

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


class OutageTest(AgentCase):
    def push_to(self, store, *arguments):
        return ("--slice", "1s", "--no-flamegraph", "--push", f"pyroscope+{store.url}", "--metrics-file", self.folder / "metrics",
                *arguments)

    def run_agent_for(self, store, slices, *arguments, **options):
        return self.run_agent("--slices", slices, *self.push_to(store, *arguments), **options)

    def assert_outcomes(self, **wanted):
        """Of the requests of the last agent; all others are none."""
        names = ("stored", "refused", "unknown", "too_old", "spool_full", "asked_again")
        self.assertEqual(self.outcomes(), {name: wanted.get(name, 0) for name in names})

    def test_a_busy_store_gets_each_profile_once(self):
        store = self.start_store()
        for status, times in ((429, 3), (503, 1)):
            store.fault(path="/push", status=status, times=times, headers={"Retry-After": "0"})
        self.start_worker()
        agent = self.start_agent(*self.push_to(store))
        deadline.wait_until(lambda: len(store.received()) >= 2, "two profiles in the store")
        agent.signal(signal.SIGTERM)
        finished = agent.wait()
        self.assertEqual(finished.code, 0, finished.err)
        self.assertIn("does not accept profiles now", finished.err)
        self.assertEqual(self.stored_cpu(store), self.known_cpu())
        self.assert_outcomes(stored=len(self.known_by_slice()), asked_again=4)

    def test_a_store_gets_several_profiles_at_once(self):
        """Pyroscope answers after half a second."""
        store = self.start_store()
        store.fault(path="/push", times=4, together=4)
        for name in ("a", "b", "c", "d"):
            self.start_worker(env={"SWIPR_SERVICE_NAME": name})
        self.run_agent_for(store, 1)
        self.assertEqual({one["labels"]["service_name"] for one in store.received()}, {"a", "b", "c", "d"})
        self.assertEqual(self.stored_cpu(store), self.known_cpu())

    def test_a_store_that_asks_for_a_pause_is_asked_again_by_the_next_agent(self):
        store = self.start_store()
        store.fault(path="/push", status=503, times=40, headers={"Retry-After": "60"})
        self.start_worker()
        agent = self.start_agent(*self.push_to(store))
        deadline.wait_until(lambda: self.outcomes().get("asked_again"), "the first refusal")
        self.wait_for_slices(len(self.accounts()) + 2)
        # One, or more where the first request waited for those of the next slices.
        first = self.outcomes()["asked_again"]
        self.wait_for_slices(len(self.accounts()) + 2)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        self.assertEqual(store.received(), [])
        self.assert_outcomes(asked_again=first + 1)  # once more at the end
        store.fault(clear=True)
        self.run_agent_for(store, 1)
        self.assertEqual(self.stored_cpu(store), self.known_cpu())
        self.assert_outcomes(stored=len(self.known_by_slice()))

    def test_a_refused_profile_is_dropped_and_takes_no_other_with_it(self):
        store = self.start_store()
        store.fault(path="/push", status=400, times=1)
        for name in ("a", "b"):
            self.start_worker(env={"SWIPR_SERVICE_NAME": name})
        finished = self.run_agent_for(store, 2)
        self.assertIn("refuses a profile: HTTP status 400", finished.err)
        known = self.known_by_slice()
        stored = self.stored_by_slice(store)
        self.assertEqual(len(stored), len(known) - 1)
        self.assertEqual(stored, {key: known[key] for key in stored})
        self.assert_outcomes(stored=len(stored), refused=1)

    def test_a_profile_without_an_answer_is_not_sent_again(self):
        """The store hangs up when it has read the whole request, or is silent for longer than swipr waits: it may
        have stored the profile, as it has here."""
        for name, fault in (("hangs up", {"cut": True}), ("is silent", {"delay_ms": 31000})):
            with self.subTest(name):
                store = self.start_store()
                store.fault(path="/push", times=1, **fault)
                self.out = self.folder / name
                (self.folder / "metrics").unlink(missing_ok=True)
                worker = self.start_worker()
                agent = self.start_agent(*self.push_to(store))
                deadline.wait_until(lambda: self.outcomes().get("unknown"), "the broken push", seconds=60)
                agent.signal(signal.SIGTERM)
                self.assertEqual(agent.wait().code, 0, agent.err())
                worker.end()
                self.assertIn("so it may or may not be stored", agent.err())
                deadline.wait_until(lambda: len(store.received()) == len(self.known_by_slice()), "the late profile")
                self.assertEqual(self.stored_cpu(store), self.known_cpu())
                self.assert_outcomes(stored=len(self.known_by_slice()) - 1, unknown=1)

    def test_a_profile_whose_answer_comes_after_the_end_is_not_sent_by_the_next_agent(self):
        store = self.start_store()
        store.fault(path="/push", times=1, delay_ms=10000)  # the agent waits 5 s
        self.start_worker()
        self.run_agent_for(store, 1)
        self.assert_outcomes()
        deadline.wait_until(store.received, "the late profile")
        self.run_agent_for(store, 1)
        self.assertEqual(self.stored_cpu(store), self.known_cpu())
        self.assert_outcomes(stored=1, unknown=1)

    def test_after_a_day_without_the_store_it_has_what_it_takes(self):
        """Pyroscope refuses what is older than an hour."""
        bound = 10 * 1024
        store = self.start_store()
        store.fault(path="/push", status=503, times=100000, headers={"Retry-After": "60"})
        for name in ("a", "b"):
            self.start_worker(env={"SWIPR_SERVICE_NAME": name})
        spool = SpoolWatch(self.folder / "spool")
        sums = {}
        for clock, slices in (("-24h", 12), ("-12h", 1), ("-40m", 1), ("-20m", 1), ("", 1)):
            if not clock:
                self.assertEqual(store.received(), [])
                store.fault(clear=True)
            then = {"LD_PRELOAD": FAKETIME, "FAKETIME": clock, "FAKETIME_DONT_FAKE_MONOTONIC": "1"} if clock else None
            self.run_agent_for(store, slices, "--spool-size", bound, env=then)
            sums = {name: sums.get(name, 0) + count for name, count in self.outcomes().items()}
        most = spool.end()
        known, stored = self.known_by_slice(), self.stored_by_slice(store)
        self.assertEqual(stored, {key: known[key] for key in stored})
        newest = {key for key in known if key[0] > time.time_ns() - 30 * 60 * 10**9}  # for them there is room
        self.assertGreater(len(newest), 2)
        self.assertLessEqual(newest, set(stored))
        self.assertEqual(sums["stored"], len(stored))
        self.assertEqual(sums["stored"] + sums["too_old"] + sums["spool_full"], len(known), sums)
        self.assertGreater(min(sums["too_old"], sums["spool_full"]), 0, sums)
        self.assertEqual((sums["refused"], sums["unknown"]), (0, 0))
        self.assertLessEqual(most, bound)
        self.assertGreater(most, bound / 2)


if __name__ == "__main__":
    unittest.main()
