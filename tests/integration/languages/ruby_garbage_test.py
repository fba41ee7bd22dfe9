"""The share of garbage collection, and the thread that collects, in the ruby of this machine and in those that
SWIPR_RUBIES names (separated by colons)."""

import json
import os
import shutil
import subprocess
import unittest

from support import profiles
from support.case import SwiprCase

# One thread collects, and Ruby tells for how long. Another has no garbage, and computes without the lock meanwhile.
GARBAGE = """
require 'zlib'
def cpu; Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID); end
def burn(seconds)
  ends = cpu + seconds
  nil while cpu < ends
end
def collects(explicit)
  used, spent = cpu, explicit ? 0 : -GC.total_time / 1e9
  until $ended
    if explicit
      begins = cpu
      GC.start
      spent += cpu - begins
      burn(0.02)
    else
      20_000.times { |i| $kept[i] = [i.to_s] }
    end
  end
  [spent + (explicit ? 0 : GC.total_time / 1e9), cpu - used]
end
def deflates
  text = Random.new(14).bytes(200_000)
  Zlib::Deflate.deflate(text, 1) until $ended
end
explicit = ARGV[0] == 'explicit'
abort 'unknown' unless explicit || GC.respond_to?(:total_time)
$kept = Array.new(200_000) { |i| i.to_s }
GC.disable if explicit
worker = Thread.new { collects(explicit) }
other = Thread.new { deflates } if explicit
puts 'ready'
STDOUT.flush
STDIN.read
$ended = true
puts worker.value.join(' ')
other.join if other
"""


class RubyGarbageTest(SwiprCase):
    def for_each_ruby(self, check):
        programs = [shutil.which("ruby"), *os.environ.get("SWIPR_RUBIES", "").split(":")]
        for path in dict.fromkeys(path for path in programs if path):
            with self.subTest(ruby=path):
                check(path)

    def record_program(self, path, how):
        """(recording, share of the thread's CPU time in which it collected, as the program measured it)"""
        source = self.folder / "garbage.rb"
        source.write_text(GARBAGE)
        program = self.start(path, source, how, preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        recording = self.record(program.pid, "--count", 1500, "--interval", "2ms")
        finished = program.end()
        self.assertEqual(finished.code, 0, finished)
        spent, used = map(float, finished.out.split())
        return recording, spent / used

    def test_collects_on_demand(self):
        self.for_each_ruby(self.check_on_demand)

    def check_on_demand(self, path):
        recording, truth = self.record_program(path, "explicit")
        share = self.share_of_collector(recording)
        running = self.convert(recording, "collapsed", "--weight", "samples", "--state", "running")
        samples = sum(s.weight for s in running if "collects (garbage.rb)" in s.frames)
        self.assertGreater(samples, 20)
        # Five standard errors of a share of half of the samples: their weights are not equal.
        self.assertAlmostEqual(share, truth, delta=5 * (truth * (1 - truth) / (samples / 2)) ** 0.5)

    def test_collects_while_it_allocates(self):
        self.for_each_ruby(self.check_while_it_allocates)

    def check_while_it_allocates(self, path):
        told = subprocess.run([path, "-e", "print GC.respond_to?(:total_time)"], capture_output=True, check=True)
        if told.stdout != b"true":
            self.skipTest("before 3.1 Ruby does not tell the time")
        recording, truth = self.record_program(path, "automatic")
        # What Ruby measures contains some of the many calls that read the clock, and the thread of swipr.
        self.assertGreater(self.share_of_collector(recording), 0.1 * truth)

    def share_of_collector(self, recording):
        """Of the CPU time of the thread with garbage. `report` says so, too, and other threads never collect."""
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        collecting = [s for s in stacks if "[garbage collection]" in s.frames]
        for stack in collecting:
            self.assertIn("collects (garbage.rb)", stack.frames, "a thread that only ran meanwhile")
        found = profiles.total(collecting)
        report = json.loads(self.swipr("report", "--json", "--weight", "cpu", recording).out)
        self.assertEqual(report["garbage_collection"], found)
        text = self.swipr("report", "--weight", "cpu", recording).out.decode()
        self.assertRegex(text, r"garbage collection: \d+\.\d % of CPU time")
        return found / sum(s.weight for s in stacks if "collects (garbage.rb)" in s.frames)


if __name__ == "__main__":
    unittest.main()
