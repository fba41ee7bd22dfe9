"""Functions and lines of Go programs that were linked without symbols and DWARF, by each Go on this machine:
that of the path, and those that SWIPR_GOS names."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from support import profiles
from support.case import SwiprCase

SOURCE = pathlib.Path(__file__).parents[2] / "targets/go/main.go"
THIRD = "_cgoexp_"  # what C calls; the compiler puts ten() into it


def compilers():
    found = [shutil.which("go"), *os.environ.get("SWIPR_GOS", "").split(":")]
    return list(dict.fromkeys(os.path.realpath(path) for path in found if path))


class GoTest(SwiprCase):
    def record_program(self, go, mode):
        """(stacks of the worker by CPU time, what its functions used)"""
        shutil.copy(SOURCE, self.folder)
        self.folder.joinpath("go.mod").write_text("module shares\ngo 1.19\n")
        program = self.folder / "shares"
        subprocess.run([go, "build", f"-buildmode={mode}", "-ldflags", "-s -w", "-o", program, "."], cwd=self.folder,
                       check=True, env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "1"})
        running = self.start(program, preloaded=True)
        running.wait_ready()
        self.wait_for_socket(running.pid)
        recording = self.record(running.pid, "--count", 1500, "--interval", "2ms")
        finished = running.end()
        self.assertEqual(finished.code, 0, finished)
        return recording, list(map(float, finished.out.split()))

    def for_each(self, check):
        self.assertTrue(compilers(), "no Go on this machine")
        for go in compilers():
            for mode in ("exe", "pie"):
                with self.subTest(go=go, mode=mode):
                    check(*self.record_program(go, mode))

    def test_shares_and_chains(self):
        self.for_each(self.check_shares)

    def check_shares(self, recording, used):
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        names = ("main.seventy", "main.twenty", THIRD)
        inside = {name: [s for s in stacks if any(f.startswith(name) for f in s.frames)] for name in names}
        weight = sum(map(profiles.total, inside.values()))
        # The others are Go's own threads, which use more if they wait for CPUs.
        self.assertGreater(weight, 0.8 * profiles.total(stacks))
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
