"""`record --embed-symbols`: the recording converts without the recorded files."""

import os
import shutil
import unittest

from support import deadline, profiles, raw
from support.case import SwiprCase

CONVERSIONS = (
    ("--format", "collapsed"),
    ("--format", "collapsed", "--no-inlines"),
    ("--format", "collapsed", "--no-demangle"),
    ("--format", "collapsed", "--short-names"),
    ("--format", "perf", "--file-lines"),
    ("--format", "pprof"),
    ("--format", "speedscope"),
    ("--format", "html"),
)


class EmbeddedNamesTest(SwiprCase):
    def setUp(self):
        super().setUp()
        self.program_copy = self.folder / "app"
        shutil.copy(self.target_path("inlined_nofp"), self.program_copy)

    def record_busy(self, *options):
        """A recording with a running sample. Repeated, because the program may not have got a CPU."""
        target = self.start(self.program_copy, preloaded=True)
        target.wait_ready()
        self.wait_for_socket(target.pid)
        paths = []

        def is_seen():
            paths.append(self.record(target.pid, "--count", 50, "--interval", "2ms", *options))
            return profiles.has_function(self.convert(paths[-1]), "^outer_hot")

        deadline.wait_until(is_seen, "the busy function")
        self.assertEqual(target.end().code, 0)
        return paths[-1]

    def outputs(self, path):
        results = [self.swipr("convert", path, *options) for options in CONVERSIONS]
        return [(finished.out, finished.err) for finished in results]

    def remove_program(self):
        os.unlink(self.program_copy)
        shutil.rmtree(self.folder / "cache")

    def test_the_same_without_the_program(self):
        path = self.record_busy("--embed-symbols")
        with_program = self.outputs(path)
        self.remove_program()
        for options, before, after in zip(CONVERSIONS, with_program, self.outputs(path)):
            with self.subTest(options=options):
                self.assertEqual(after, before)
        stacks = self.convert(path, "perf", "--file-lines")
        self.assertTrue(any("inlined_leaf" in name for stack in stacks for name in stack.inlined))
        self.assertIn("names from the recording", self.swipr("convert", "--explain", path).out.decode())

    def test_the_same_as_from_the_program(self):
        path = self.record_busy("--embed-symbols")
        bare = self.folder / "bare.swipr"
        bare.write_bytes(raw.without_names(path.read_bytes()))
        self.assertLess(bare.stat().st_size, path.stat().st_size)
        for options, carried, looked_up in zip(CONVERSIONS, self.outputs(path), self.outputs(bare)):
            with self.subTest(options=options):
                self.assertEqual(carried, looked_up)
        self.remove_program()
        self.assertFalse(profiles.has_function(self.convert(bare), "^outer_hot"))


if __name__ == "__main__":
    unittest.main()
