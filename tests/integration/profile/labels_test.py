"""Labels that programs give to their threads: include/swipr/swipr.h."""

import collections
import json
import re
import unittest

from support import products, profiles, sampling
from support.case import SwiprCase

# Equally heavy ones would put 5 points at eleven standard errors (shares_test.py); late ticks make heavy ones.
ENOUGH_SAMPLES = 6000


@sampling.sampled
class LabelsTest(SwiprCase):
    def pprof(self, path, *arguments):
        return self.convert(path, "pprof", *arguments)

    def sums(self, stacks, key, value="cpu/nanoseconds"):
        sums = collections.Counter()
        for stack in stacks:
            sums[stack.labels.get(key)] += stack.values[value]
        return sums

    def test_shares_by_label_are_those_of_the_work(self):
        program = self.start_target("labelled_nofp", "shares")
        sums = collections.Counter()
        samples = 0
        while samples < ENOUGH_SAMPLES:
            path = self.record(program.pid, "--count", 1500, "--interval", "1ms")
            busy = [stack for stack in self.pprof(path) if stack.labels.get("work") == "shares"]
            sums += self.sums(busy, "phase")
            samples += sum(stack.values["samples/count"] for stack in busy)
        for phase, per_cent in {"seventy": 70, "twenty": 20, "ten": 10}.items():
            with self.subTest(phase):
                self.assertAlmostEqual(100 * sums[phase] / sums.total(), per_cent, delta=5)
        self.check_waits(path)
        self.check_filters(path)
        self.check_report(path)
        self.assertEqual(program.end().code, 0)

    def check_waits(self, path):
        stacks = self.pprof(path)
        asleep = [stack for stack in stacks if stack.thread == "asleep"]
        self.assertEqual({stack.labels.get("phase") for stack in asleep}, {"asleep"}, asleep)
        self.assertIn("blocked", {stack.state for stack in asleep})
        plain = [stack for stack in stacks if stack.thread == "plain"]
        self.assertGreater(len(plain), 0)
        self.assertEqual({stack.labels.get("phase") for stack in plain}, {None})
        # A span is a label that ends with it.
        inner = [stack for stack in stacks if "span" in stack.labels]
        self.assertEqual({stack.labels["phase"] for stack in inner}, {"ten"})

    def check_filters(self, path):
        whole = self.sums(self.pprof(path), "phase")
        for arguments, values in ((["phase=twenty"], {"twenty"}), (["phase=t*", "work=shares"], {"twenty", "ten"}),
                                  (["phase=ten", "phase=asleep"], {"ten", "asleep"}), (["phase="], {None})):
            with self.subTest(arguments):
                options = [each for one in arguments for each in ("--label", one)]
                self.assertEqual(self.sums(self.pprof(path, *options), "phase"), {key: whole[key] for key in values})
        self.assert_one_line_error(self.swipr("report", path, "--label", "phase=none", expect=1), "no sample matches", "--label phase=none")
        self.assert_one_line_error(self.swipr("report", path, "--label", "phase", expect=2), "'phase' is not key=value")
        own = self.pprof(path, "--pprof-labels", "own")
        self.assertEqual(self.sums(own, "phase"), whole)
        self.assertLessEqual({key for stack in own for key in stack.labels}, {"phase", "work", "span"})
        for labels in ("thread", "none"):
            self.assertEqual(set(self.sums(self.pprof(path, "--pprof-labels", labels), "phase")), {None})

    def check_report(self, path):
        report = json.loads(self.swipr("report", path, "--json").out)
        phases = {label["value"]: label["cpu_ns"] for label in report["labels"] if label["key"] == "phase"}
        whole = self.sums(self.pprof(path), "phase")
        self.assertEqual({value or None: cpu for value, cpu in phases.items()}, dict(whole))
        text = self.swipr("report", path).out.decode()
        lines = text[text.index("label phase"):].splitlines()
        self.assertRegex(lines[1], r" %  seventy$")
        # Formats without labels have each stack once.
        self.assertEqual(profiles.total(self.convert(path, "collapsed", "--weight", "cpu")), whole.total())

    def check_owner(self, stack):
        labels = stack.labels
        if stack.thread == "plain":
            self.assertFalse([key for key in labels if key.startswith("key") or key == "owner"], labels)
        if "owner" in labels:
            self.assertEqual(labels["owner"], str(stack.tid), labels)
        for key, value in labels.items():
            if match := re.fullmatch("key([a-z])", key):
                self.assertRegex(value, rf"^{match[1]}(\d)\1{{0,98}}$", "a torn label")

    def test_labels_that_change_all_the_time_are_whole_and_of_their_thread(self):
        program = self.start_target("labelled_nofp", "chaos")
        stacks = []
        for _ in range(3):
            stacks += self.pprof(self.record(program.pid, "--count", 1500, "--interval", "1ms"))
        self.assertEqual(program.end().code, 0)
        for stack in stacks:
            self.check_owner(stack)
        # Labels of running and of sleeping threads, and of signal handlers, were among them.
        keys = collections.Counter((key, stack.state) for stack in stacks for key in stack.labels)
        for wanted in (("keya", "running"), ("keyd", "blocked"), ("owner", "blocked"), ("keyh", "running")):
            self.assertGreater(keys[wanted], 0, keys)
        self.assertGreater(len({stack.labels["owner"] for stack in stacks if "owner" in stack.labels}), 20)
        self.assertGreater(sum(stack.thread == "plain" for stack in stacks), 20)

    def test_thousands_of_values(self):
        program = self.start_target("labelled_nofp", "values")
        path = self.record(program.pid, "--count", 4000, "--interval", "1ms")
        program.end()
        sums = self.sums(self.pprof(path), "request")
        self.assertGreater(len(sums), 1000)
        self.assertGreater(sums.total() - sums[None], 0.98 * sums.total())
        rows = self.swipr("report", path, "--top", "5").out.decode().split("label request")[1].splitlines()
        self.assertRegex(rows[6], r"^ +\d+ more$")

    def test_losses_are_told(self):
        program = self.start_target("labelled_nofp", "losses")
        path = self.record(program.pid, "--count", 200, "--interval", "1ms")
        program.end()
        told = self.swipr("report", path).err
        self.assertRegex(told, r"\d+ labels of threads were lost: a thread can have 8")
        self.assertRegex(told, r"\d+ values of labels were cut")
        labels = {key: value for stack in self.pprof(path) for key, value in stack.labels.items() if key.isdigit()}
        self.assertEqual(set(labels), set("01234567"))
        self.assertEqual(labels["1"], "value")

    def test_a_child_has_its_own(self):
        program = self.start_target("labelled_nofp", "fork", ready=False)
        child = int(program.read_line().split()[1])
        self.wait_for_socket(child)
        stacks = self.pprof(self.record(child, "--count", 200, "--interval", "1ms"))
        # A sample without a stack, which a busy machine may cause, is without labels.
        seen = [stack for stack in stacks if stack.frames != ["[no stack]"]]
        self.assertEqual({stack.labels.get("who") for stack in seen if stack.tid == child}, {"child"})
        self.assertEqual({key for stack in stacks for key in stack.labels} & {"work"}, set())
        self.assertEqual({stack.labels.get("who") for stack in stacks if stack.thread == "after"}, {None})
        program.end()

    def test_trace_ids_of_opentelemetry(self):
        for name in ("traced_context", "traced_context_plain", "traced_context_descriptor"):
            if name != "traced_context" and not products.has_target(name):
                continue  # clang has one of the two models
            with self.subTest(name):
                program = self.start_target(name)
                stacks = self.pprof(self.record(program.pid, "--count", 1500, "--interval", "1ms"))
                self.assertEqual(program.end().code, 0)
                busy = [stack for stack in stacks if stack.labels.get("trace_id") in ("11" * 16, "22" * 16)]
                used = self.sums(busy, "trace_id")
                self.assertAlmostEqual(100 * used["11" * 16] / used.total(), 75, delta=8)
                self.assertEqual({(stack.labels["trace_id"][:2], stack.labels["span_id"]) for stack in busy},
                                 {("11", "12" * 8), ("22", "23" * 8)})
                of_thread = {thread: {stack.labels.get("trace_id") for stack in stacks if stack.thread == thread}
                             for thread in ("asleep", "invalid", "none")}
                self.assertEqual(of_thread, {"asleep": {"33" * 16}, "invalid": {None}, "none": {None}})


if __name__ == "__main__":
    unittest.main()
