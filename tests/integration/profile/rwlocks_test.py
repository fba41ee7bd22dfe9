"""Who holds the read-write lock that a thread waits for, and which lock it is."""

import json
import unittest

from support import deadline, profiles
from support.case import SwiprCase

SITES = {"reader": "want_to_read", "writer": "want_to_write", "timed_reader": "want_to_read_today",
         "timed_writer": "want_to_write_today", "clock_writer": "want_to_write_by_clock",
         "shared_reader": "want_shared", "shared_writer": "want_exclusive"}


class RwlocksTest(SwiprCase):
    def setUp(self):
        super().setUp()
        self.target = self.start_target("rwlocks_nofp")

    def record_running(self, seconds):
        path = self.folder / "recording.swipr"
        recorder = self.start(self.program, "record", "--pid", self.target.pid, "--duration", f"{seconds}s",
                              "--interval", "2ms", "--max-overhead", "100%", "-o", path)
        deadline.wait_until(lambda: path.exists() and path.stat().st_size > 20_000, "the first samples")
        return path, recorder

    def blocked(self, path):
        """What the threads that wait for something wait for, as samples of pprof."""
        stacks = profiles.parse(self.swipr("convert", "--format", "pprof", path).out, "pprof")
        return [stack for stack in stacks if stack.state == "blocked" and stack.thread not in ("holder", "rwlocks_nofp")]

    def test_owners(self):
        path, recorder = self.record_running(4)
        self.target.send("late\n")  # a writer that waited for readers gets its lock, while another waits behind it
        self.assertEqual(recorder.wait().code, 0)
        right, wrong = {}, {}
        for stack in self.blocked(path):
            owner = stack.labels.get("lock_owner", "nobody").split()[0]
            expected = {"behind_writer": ("nobody", "behind_late"), "behind_readers": ("nobody",),
                        "behind_late": ("nobody",), "trier": ("nobody",)}.get(stack.thread, ("holder",))
            found = right if owner in expected else wrong
            found[stack.thread, owner] = found.get((stack.thread, owner), 0) + stack.values["blocked/nanoseconds"]
        self.assertGreater(sum(right.values()), 0.99 * (sum(right.values()) + sum(wrong.values())), wrong)
        for thread in SITES:
            self.assertGreater(right.get((thread, "holder"), 0), 2e9, thread)
        # It slept from before the recording on, while the owner came.
        self.assertGreater(right["behind_writer", "behind_late"], 1e9, right)
        self.assertGreater(right["behind_writer", "nobody"], 0, right)

        report = json.loads(self.swipr("report", "--json", path).out)
        sites = {holder["lock"]: holder for holder in report["rwlocks"]["holders"]}
        self.assertEqual(set(sites), set(SITES.values()) | {"want_from_late"})
        self.assertEqual(sites["want_to_read"]["variable"], "catalogue")
        self.assertEqual(sites["want_to_write"]["locks"], 1)
        self.assertEqual(sites["want_exclusive"]["variable"], "(anonymous namespace)::shared")
        self.assertEqual(sites["want_from_late"]["function"], "hold_late")
        many, = report["mutexes"]["holders"]
        self.assertEqual((many["lock"], many["locks"], many["more_locks"]), ("want_one_of_many", 8, True))
        text = self.swipr("report", path).out.decode()
        self.assertRegex(text, r"threads waited \d+\.\d+ s for writers of read-write locks, ")
        self.assertRegex(text, r"% +rwlock catalogue in want_to_read +while main held it")
        self.assertRegex(text, r"% +8 mutexes or more in want_one_of_many +while main held it")
        self.assertEqual(self.target.end().code, 0)

    def test_labels(self):
        path = self.record(self.target.pid, "--count", 50, "--interval", "2ms")
        self.target.end()
        blocked = self.blocked(path)
        labels = {stack.thread: stack.labels for stack in blocked}
        self.assertEqual(labels["reader"]["lock"], "rwlock catalogue")
        self.assertEqual(labels["shared_writer"]["lock"], "rwlock (anonymous namespace)::shared")
        self.assertEqual(labels["reader"]["lock_owner"], f"holder {self.target.pid}")
        self.assertNotIn("lock", labels["behind_readers"])
        # Stores make a series of each set of labels: in what they get, stacks do not differ by their locks.
        for shape in ("own", "thread", "none"):
            stacks = profiles.parse(
                self.swipr("convert", "--format", "pprof", "--pprof-labels", shape, path).out, "pprof")
            self.assertFalse([stack for stack in stacks if "lock" in stack.labels or "lock_owner" in stack.labels])
            many = [stack for stack in stacks if "want_one_of_many" in stack.frames]
            self.assertLess(len(many), 5, shape)


if __name__ == "__main__":
    unittest.main()
