"""Stacks of Go functions that C calls, with the Go functions that have called C, by each Go on this machine: that of
the path, and those that SWIPR_GOS names."""

import pathlib
import re
import unittest

from support import profiles
from support.go import GoCase

SOURCE = pathlib.Path(__file__).parents[2] / "targets/go/callbacks/main.go"
# Between C and the function that it calls: what cgo has generated, and Go's runtime.
ENTRY = r"crosscall2;runtime\.cgocallback;(runtime\.cgocallbackg1?;)+_cgoexp_\w+;"
ROOT = r"^runtime\.goexit;(main\.main\.\w+;)?"
CALL = r"(main\._Cfunc_\w+;)?"
LEAVE = r"runtime\.cgocall;runtime\.asmcgocall;(_cgo_\w+;)?"
FIRST = rf"call_first;first;{ENTRY}main\.first;"
SECOND = rf"main\.goOn;{CALL}{LEAVE}call_second;second;{ENTRY}main\.second;"


class GoCallbacksTest(GoCase):
    source = SOURCE

    def test_stacks(self):
        self.for_each(self.check)

    def check(self, recording, used):
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        work = rf"{ROOT}main\.worker;main\.work;{CALL}{LEAVE}{FIRST}"
        inside = {"main.sixty": work + r"main\.sixty;", "main.forty": work + SECOND + r"main\.forty;"}
        found = {name: [s for s in stacks if name in s.frames] for name in inside}
        weight = sum(map(profiles.total, found.values()))
        running = self.convert(recording, "collapsed", "--weight", "samples", "--state", "running")
        samples = sum(s.weight for s in running if "main.worker" in s.frames)
        self.assertGreater(samples, 20)
        for (name, chain), seconds in zip(inside.items(), used):
            self.check_chains(found[name], chain)
            # Five standard errors of a share of half of the samples: their weights are not equal.
            truth = seconds / sum(used)
            share = profiles.total(found[name]) / weight
            delta = 5 * (truth * (1 - truth) / (samples / 2)) ** 0.5 + 0.05
            self.assertAlmostEqual(share, truth, delta=delta, msg=name)
        spinning = [s for s in stacks if "main.spin" in s.frames]
        self.check_chains(spinning, rf"start_thread;run_foreign;foreign;{ENTRY}main\.foreign;main\.spin")
        blocked = self.convert(recording, "collapsed", "--weight", "blocked")
        waiting = [s for s in blocked if "wait_in_c" in s.frames]
        self.check_chains(waiting, rf"{ROOT}main\.waits;{CALL}{LEAVE}{FIRST}{SECOND}{CALL}{LEAVE}wait_in_c")

    def check_chains(self, stacks, chain):
        """Nearly all: Go switches stacks in several instructions."""
        self.assertTrue(stacks, chain)
        whole = [s for s in stacks if re.search(chain, ";".join(s.frames))]
        others = [s.frames for s in stacks if s not in whole]
        self.assertGreater(profiles.total(whole), 0.97 * profiles.total(stacks), (chain, others[:3]))


if __name__ == "__main__":
    unittest.main()
