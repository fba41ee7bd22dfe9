"""Who waits for the lock of Ruby's virtual machine (GVL), and who holds it, in the ruby of this machine and in those
that SWIPR_RUBIES names (separated by colons)."""

import json
import os
import shutil
import unittest

from support.case import SwiprCase

# Two threads compute all the time, so that one of them waits for the lock; others wait for something else.
BUSY = """
def alpha; i = 0; i += 1 while i < 50_000; end
def beta; i = 0; i += 1 while i < 50_000; end
def in_sleep; sleep; end
def in_pop; Queue.new.pop; end
busy = [Thread.new { alpha until $ended }, Thread.new { beta until $ended }]
Thread.new { in_sleep }
Thread.new { in_pop }
puts 'ready'
STDOUT.flush
STDIN.read
$ended = true
busy.each(&:join)
"""


class RubyLockTest(SwiprCase):
    def test_waits_for_the_lock(self):
        programs = [shutil.which("ruby"), *os.environ.get("SWIPR_RUBIES", "").split(":")]
        for path in dict.fromkeys(path for path in programs if path):
            with self.subTest(ruby=path):
                self.check_waits(path)

    def check_waits(self, path):
        source = self.folder / "busy.rb"
        source.write_text(BUSY)
        program = self.start(path, source, preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        recording = self.record(program.pid, "--count", 600, "--interval", "5ms")
        self.assertEqual(program.end().code, 0)
        stacks = self.convert(recording, "collapsed", "--weight", "blocked", "--state-frames", "on", "--frames", "language")
        blocked = {name: [s for s in stacks if f"{name} (busy.rb)" in s.frames] for name in ("alpha", "beta", "in_sleep", "in_pop")}
        for name in ("alpha", "beta"):
            whole = sum(s.weight for s in blocked[name])
            waiting = sum(s.weight for s in blocked[name] if s.frames[-1] == "[GVL]")
            self.assertGreater(waiting, 0.9 * whole, (name, stacks))
        for name in ("in_sleep", "in_pop"):
            self.assertTrue(blocked[name], stacks)
            self.assertFalse([s for s in blocked[name] if s.frames[-1] == "[GVL]"])
        report = json.loads(self.swipr("report", "--json", recording).out)
        waits = {entry["function"]: entry["waited_ns"] for entry in report["gil"]["holders"]}
        # Nobody holds it while it passes to a thread that waits for a CPU.
        known = sum(time for holder, time in waits.items() if holder)
        self.assertGreater(waits["alpha (busy.rb)"] + waits["beta (busy.rb)"], 0.95 * known, waits)
        self.assertGreater(known, 0.4 * sum(waits.values()), waits)
        self.assertIn("for the GVL", self.swipr("report", recording).out.decode())


if __name__ == "__main__":
    unittest.main()
