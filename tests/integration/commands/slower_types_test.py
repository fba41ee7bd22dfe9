"""swipr slower with debug information: names, types and values of arguments and results, and strings, as the program
itself prints what it passes to functions with parameters of all kinds."""

import json
import os
import select
import signal
import unittest

from support import deadline, products
from support.case import SwiprCase

NAMES = ("widths wide between enums pointers many longest variadic small two_words mixed floats in_memory hidden "
         "no_room shapes nested owned members Object::method Object::in_class by_value by_reference views c_strings "
         "changes escapes gone").split()
FUNCTIONS = [f"typed::{name}" for name in NAMES] + ["*typed::generic*", "typed::nothing"]
ANY = "any"


def agrees(told, expected):
    """A value that swipr prints, and the program's."""
    if expected == ANY:
        return told is not None
    if isinstance(expected, dict):
        return isinstance(told, dict) and told.keys() == expected.keys() and all(
            agrees(told[name], expected[name]) if expected[name] is not None else told[name] is None for name in expected)
    return type(told) is type(expected) and told == expected


def parameter_agrees(told, expected):
    if isinstance(expected, list):  # a string
        return [told.get("string"), told.get("cut")] == expected
    return "string" not in told and agrees(told["value"], expected)


class SlowerTypesTest(SwiprCase):
    def trace(self, program, *arguments):
        """The program's truth by function, and what swipr printed of the calls."""
        target = self.start_target(program)
        # Time stamp counters of two virtual CPUs can differ by more than such a call takes, which then has no duration.
        os.sched_setaffinity(target.pid, {min(os.sched_getaffinity(target.pid))})
        running = self.start_swipr("slower", "--pid", target.pid, *FUNCTIONS, "1ns", "--max-overhead", "1000%", *arguments)

        def is_last_traced():
            target.send("nothing\n")
            self.assertEqual(target.read_line(), "done")
            return select.select([running.process.stdout], [], [], 0.1)[0]

        deadline.wait_until(is_last_traced, "the last function is traced")
        target.send("call\n")
        truth = {}
        while (line := target.read_line()) != "done":
            told = json.loads(line)
            truth[told["function"]] = told
        running.signal(signal.SIGINT)
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        self.assertEqual(target.end().code, 0)
        self.assertEqual(len(truth), len(FUNCTIONS))
        return truth, finished.out.decode()

    def trace_json(self, program, *arguments):
        truth, out = self.trace(program, "--json", *arguments)
        calls = {}
        for line in out.splitlines()[:-1]:
            call = json.loads(line)
            calls[call["function"].split("(")[0].split("<")[0].split("::")[-1]] = call
        self.assertEqual(set(calls), set(truth))
        return truth, calls

    def check(self, program, most_lost=0):
        """`most_lost`: values of which the compiler does not say whether they are passed."""
        truth, calls = self.trace_json(program)
        lost = 0
        for name, expected in truth.items():
            with self.subTest(program, function=name):
                call = calls[name]
                self.assertEqual(len(call["parameters"]), len(expected["values"]), call)
                for told, value in zip(call["parameters"], expected["values"]):
                    is_lost = most_lost != 0 and value is not None and told["value"] is None
                    lost += is_lost
                    self.assertTrue(is_lost or parameter_agrees(told, value), (told, value))
                self.assertTrue(parameter_agrees(call["return"], expected["result"]), (call["return"], expected))
        self.assertLessEqual(lost, most_lost)
        return calls

    def test_every_signature(self):
        calls = self.check("signatures_nofp")
        self.assertEqual([(each["name"], each["type"]) for each in calls["widths"]["parameters"]],
                         [("yes", "bool"), ("a", "signed char"), ("b", "unsigned char"), ("c", "short int"),
                          ("d", "short unsigned int"), ("e", "int")])
        self.assertEqual([each.get("enumerator") for each in calls["enums"]["parameters"]], ["kBlue", "kLow", None])
        self.assertEqual(calls["shapes"]["return"]["type"], "void")
        self.assertEqual(calls["method"]["parameters"][0]["name"], "this")

    def test_without_optimisation(self):
        self.check("signatures_plain")

    def test_an_older_version_of_dwarf(self):
        self.check("signatures_dwarf4")

    @unittest.skipUnless(products.has_target("signatures_clang"), "there is no clang")
    def test_clang(self):
        self.check("signatures_clang", most_lost=8)

    def test_without_types_registers_are_shown(self):
        _, calls = self.trace_json("signatures_few", "--args", "2")
        for call in calls.values():
            self.assertIsNone(call["parameters"])
            self.assertIsNone(call["return"])
            self.assertEqual(len(call["arguments"]), 2)

    def test_no_arguments(self):
        _, calls = self.trace_json("signatures_nofp", "--args", "0")
        for call in calls.values():
            self.assertEqual((call["parameters"], call["arguments"]), ([], []))
            self.assertNotIn("string", call["return"])

    def test_text(self):
        _, out = self.trace("signatures_nofp")
        for line in ("typed::widths(yes=true, a=-1, b=200, c=-300, d=60000, e=-70000) = false",
                     "typed::enums(colour=kBlue, level=kLow, unnamed=3) = kBlue",
                     "typed::small(point={x=-3, y=3}, after=4) = {x=-2, y=3}",
                     "typed::many(a=1, b=2, c=3, d=4, e=5, f=6, g=?, h=?) = 8",
                     "typed::between(a=1, x=?, b=2, y=?, c=3, z=?, d=4) = ?",
                     'typed::by_value(text="abc", after=1) = "abc!"',
                     'typed::variadic(format="%d", count=1, ...) = 9',
                     'typed::views(view="iew", reference="a view", after=2) = 2',
                     'typed::escapes(controls="\\x1b[31m\\n\\"\\\\", invalid="\\xff\\u202e", zero="a\\x00b") = 0',
                     'at_the_end="end"…, view="nd", after=1) = 1',
                     "typed::hidden(a=1, b=-2) = {…}",
                     "e='x', f=128512) = 200"):
            self.assertIn(line + "\n", out)
        self.assertRegex(out, r"typed::shapes\(empty=\{\}, .*, after=12\)\n")
        self.assertRegex(out, r"typed::pointers\(a=0x[0-9a-f]+, .*, null=NULL, function=0x[0-9a-f]+\) = 0x")
        self.assertNotIn("\x1b", out)


if __name__ == "__main__":
    unittest.main()
