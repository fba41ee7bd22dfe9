"""Programs linked with musl: the same library records them, and they do not notice."""

import pathlib
import unittest

from support import profiles
from support.case import SwiprCase

SOURCES = pathlib.Path(__file__).parents[2] / "targets/musl"
ENDS = {"": 13, "quick_exit": 11, "_exit": 12, "pthread_exit": 0}


class MuslTest(SwiprCase):
    def built(self, name):
        program = self.folder / name
        # As compilers for musl link; Debian's wrapper leaves the option out.
        finished = self.start("musl-gcc", "-O2", "-g", "-fno-optimize-sibling-calls", "-Wl,--eh-frame-hdr",
                              SOURCES / f"{name}.c", "-o", program).wait()
        self.assertEqual((finished.code, finished.err), (0, ""))
        return program

    def test_the_program_does_not_notice(self):
        program = self.built("guest")
        for end, code in ENDS.items():
            with self.subTest(end=end or "return"):
                plain = self.start(program, end).wait()
                self.assertEqual((plain.code, plain.out), (code, b"end\n"))
                idle = self.start(program, end, preloaded=True).wait()
                self.assertEqual((idle.code, idle.out, idle.err), (code, b"end\n", ""))
                path = self.folder / f"guest-{end}.swipr"
                recorded = self.swipr("record", "--interval", "1ms", "-o", path, "--", program, end, expect=code)
                self.assertEqual(recorded.out, b"end\n")
                self.assertGreater(len(self.convert(path, "collapsed", "--weight", "samples")), 0)

    def test_stacks_through_a_libc_without_cfi(self):
        target = self.start(self.built("threads"), preloaded=True)
        target.wait_ready()
        self.wait_for_socket(target.pid)
        path = self.record(target.pid, "--count", 200, "--interval", "5ms")
        target.end()
        stacks = self.convert(path, "collapsed", "--weight", "samples")
        total = profiles.total(stacks)
        complete = sum(s.weight for s in stacks
                       if {"run_worker", "run_sleeper", "run_waiter", "main"} & set(s.frames))
        self.assertGreater(complete, 0.99 * total, [s for s in stacks if len(s.frames) < 4])
        leaves = {"sort_numbers": "compare", "format_text": "snprintf", "run_sleeper": "nanosleep", "main": "read"}
        for function, callee in leaves.items():
            below = [s.frames for s in stacks if function in s.frames and callee in s.frames]
            self.assertTrue(below, function)
            for frames in below:
                self.assertLess(frames.index(function), frames.index(callee))


if __name__ == "__main__":
    unittest.main()
