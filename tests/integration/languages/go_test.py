"""Functions and lines of Go programs that were linked without symbols and DWARF, by each Go on this machine:
that of the path, and those that SWIPR_GOS names."""

import pathlib
import re
import unittest

from support import profiles
from support.go import GoCase

SOURCE = pathlib.Path(__file__).parents[2] / "targets/go/main.go"
THIRD = "_cgoexp_"  # what C calls; the compiler puts ten() into it


class GoTest(GoCase):
    source = SOURCE
    flags = ("-ldflags", "-s -w")

    def test_shares_and_chains(self):
        self.for_each(self.check_shares)

    def check_shares(self, recording, used):
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        names = ("main.seventy", "main.twenty", THIRD)
        inside = {name: [s for s in stacks if any(f.startswith(name) for f in s.frames)] for name in names}
        weight = sum(map(profiles.total, inside.values()))
        # Go's own threads begin there; they use more if they wait for CPUs.
        programs = [stack for stack in stacks if "runtime.mstart" not in stack.frames]
        self.assertGreater(weight, 0.9 * profiles.total(programs))
        for name, seconds in zip(names, used):
            # Five standard errors of a share of half of the ticks, which a busy machine may leave.
            truth = seconds / sum(used)
            share = profiles.total(inside[name]) / weight
            self.assertAlmostEqual(share, truth, delta=5 * (truth * (1 - truth) / 400) ** 0.5 + 0.05, msg=name)
        # The functions that the compiler has inlined are frames, too.
        inlined = [s for s in inside[THIRD] if "main.ten;main.burn" in ";".join(s.frames)]
        self.assertGreater(profiles.total(inlined), 0.9 * profiles.total(inside[THIRD]))
        chain = r"^runtime\.goexit;(main\.main\.\w+;)?main\.worker;main\.timed;main\."
        for stack in inside["main.seventy"] + inside["main.twenty"]:
            self.assertRegex(";".join(stack.frames), chain)

    def test_lines(self):
        self.for_each(self.check_lines)

    def check_lines(self, recording, _):
        source = enumerate(SOURCE.read_text().splitlines(), 1)
        (line,) = (number for number, text in source if text.endswith("// line of burn"))
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines").out.decode()
        found = set(map(int, re.findall(r" main\.burn\+[^\n]*\n\s+\S*/main\.go:(\d+)", text)))
        self.assertIn(line, found)
        self.assertLess(max(found) - min(found), 8, "lines of one function")


if __name__ == "__main__":
    unittest.main()
