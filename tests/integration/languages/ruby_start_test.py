"""Signals while Ruby starts: its main thread's stack pointer is at the end of the stack for an instant, where a signal
would end the process."""

import pathlib
import shutil
import subprocess
import sys
import unittest

from support import raw
from support.case import SwiprCase

BURN = """
import sys, time
while time.process_time() < float(sys.argv[1]): pass
"""
RUN = """
def burn(seconds)
  clock = Process::CLOCK_THREAD_CPUTIME_ID
  end_of_it = Process.clock_gettime(clock) + seconds
  i = 0
  i += 1 while Process.clock_gettime(clock) < end_of_it
end
burn(1)
"""


def library_of(ruby):
    """None: the interpreter is in the program."""
    code = 'puts RbConfig::CONFIG.values_at("archlibdir", "libdir", "LIBRUBY_SO")'
    *folders, name = subprocess.check_output([ruby, "-e", code], text=True).split()
    return next((path for path in (pathlib.Path(folder, name) for folder in folders) if path.exists()), None)


class RubyStartTest(SwiprCase):
    def setUp(self):
        super().setUp()
        self.recording = self.folder / "start.swipr"
        self.settings = {"SWIPR_RECORD": str(self.recording), "SWIPR_RECORD_INTERVAL": "1ms"}

    def asked(self):
        (source,) = raw.read(self.recording.read_bytes()).values()
        return source.totals["signals_sent"] + source.totals["cpu_timer_stacks"]

    def test_no_signal_until_ruby_runs_or_a_second_has_passed(self):
        library = library_of(shutil.which("ruby"))
        if library is None:
            self.skipTest("the interpreter is in the program")
        for seconds in (0.5, 1.5):
            # The library is mapped, and nobody starts Ruby.
            preloads = f"LD_PRELOAD={self.preload}:{library}"
            program = self.start("/usr/bin/env", preloads, sys.executable, "-c", BURN, seconds, env=self.settings)
            self.assertEqual(program.end().code, 0)
            self.assertEqual(self.asked() > 0, seconds > 1, f"{self.asked()} signals in {seconds} s")

    def test_ruby_is_recorded_as_soon_as_it_runs(self):
        source = self.folder / "run.rb"
        source.write_text(RUN)
        program = self.start(shutil.which("ruby"), source, env=self.settings, preloaded=True)
        self.assertEqual(program.end().code, 0)
        stacks = self.convert(self.recording, "collapsed", "--weight", "cpu")
        burnt = sum(stack.weight for stack in stacks if "burn (run.rb)" in stack.frames)
        self.assertGreater(burnt, 0.9e9)


if __name__ == "__main__":
    unittest.main()
