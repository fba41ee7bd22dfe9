"""Frames of Ruby in recordings: shares, chains, lines and waits of programs whose truth is known, in the ruby of this
machine, or of the root in SWIPR_TEST_ROOT, and in those that SWIPR_RUBIES names (separated by colons)."""

import json
import os
import re
import unittest

from support import languages, profiles, raw, sampling

# The worker's functions use 70, 20 and 10 % of its CPU time, and say so themselves.
SHARES = """
$used = Hash.new(0.0)
def cpu; Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID); end
def burn(name, seconds)
  begins = cpu
  while cpu - begins < seconds
    i = 0
    i += 1 while i < 2000
  end
  $used[name] += cpu - begins
end
def seventy; burn(:seventy, 0.007); end
def twenty; burn(:twenty, 0.002); end
def ten; burn(:ten, 0.001); end
class Worker
  def run
    until $ended
      seventy; twenty; ten
    end
  end
end
worker = Thread.new { Worker.new.run }
puts 'ready'
STDOUT.flush
STDIN.read
$ended = true
worker.join
puts [:seventy, :twenty, :ten].map { |name| $used[name] }.join(' ')
"""

# Every method is called by one other: its name is that of its caller and one letter more. Calls are direct, through
# blocks of methods in C and in Ruby, procs, fibers, enumerators, exceptions and code that is compiled at run time.
CHAINS = """
$random = Random.new(14)
WAYS = ['%s', '[1].each { %s }', '[2, 1].sort_by { |x| %s; x }', '1.times { %s }', 'proc { %s }.call',
        'Fiber.new { %s }.resume', 'begin; %s; raise "x"; rescue; end', '[1].each_slice(1).map { %s }',
        'send(:%s)', 'eval("%s")', '{ a: 1 }.each_with_object([]) { %s }', 'begin; 1; ensure; %s; end', 'yields { %s }']
def yields; yield; end
def make(name, depth)
  calls = %w[a b c].map { |letter| name + letter }
  calls.each { |child| make(child, depth - 1) } if depth > 0
  bodies = calls.map { |child| depth > 0 ? WAYS.sample(random: $random) % child : 'i = 0; i += 1 while i < 2000' }
  Object.class_eval("def #{name}; case $random.rand(3); when 0; #{bodies[0]}; when 1; #{bodies[1]}; " \\
                    "else #{bodies[2]}; end; end", "#{name}.rb")
end
make('r', 4)
threads = 2.times.map { Thread.new { r until $ended } }
puts 'ready'
STDOUT.flush
STDIN.read
$ended = true
threads.each(&:join)
"""

# Blocked threads, of which Ruby itself says in which lines they are. The long method has more than 512 words of code.
WAITS = """
require 'json'
require 'socket'
class Waits
  def fall(n, &block)
    return block.call if n == 0
    fall(n - 1, &block)
  end
  def in_sleep
    sleep
  end
  def in_select
    reader, $writer = IO.pipe
    IO.select([reader])
  end
  def in_accept
    server = TCPServer.new('127.0.0.1', 0)
    server.accept
  end
  def in_pop
    [1].each do |x|
      Queue.new.pop
    end
  end
  def in_mutex
    $mutex.synchronize { 1 }
  end
  def in_fiber
    Fiber.new do
      sleep
    end.resume
  end
  eval((['def in_long(place)', 'x = 1'] + 150.times.map { |i| "x += #{i}\\nsleep if place == #{i}" } + ['x', 'end']).join("\\n"),
       binding, 'long.rb', 1000)
end
$mutex = Mutex.new
$mutex.lock
waits = Waits.new
calls = [:in_sleep, :in_select, :in_accept, :in_pop, :in_mutex, :in_fiber].map { |name| [name, []] } +
        [0, 3, 7, 70, 90, 149].map { |place| [:in_long, [place]] }
threads = calls.map do |name, arguments|
  Thread.new do
    begin
      waits.fall(name == :in_pop ? 1000 : 5) { waits.send(name, *arguments) }
    rescue ThreadError
    end
  end
end
sleep 0.05 until threads.all? { |t| t.status == 'sleep' }
sleep 0.2
puts 'ready', threads.map { |t| t.backtrace }.to_json
STDOUT.flush
STDIN.read
"""

# The innermost method calls nothing, so that code which YJIT compiles never writes where it is.
LEAF = """
def leaf(n)
  i = 0
  i += 1 while i < n
  i
end
def caller_of_leaf(n)
  leaf(n)
end
puts 'ready'
STDOUT.flush
reader = Thread.new { STDIN.read; $ended = true }
caller_of_leaf(100_000) until $ended
"""
YJIT = ("--yjit", "--yjit-call-threshold=2")

# A method in C calls a block; the names of both are known, whatever the symbols of the library are.
BUILT_IN = """
TEXT = 'a' * 2000
def rewrite
  TEXT.gsub(/a/) { |c| c.upcase }
end
puts 'ready'
STDOUT.flush
Thread.new { STDIN.read; $ended = true }
rewrite until $ended
"""

FIBERS = """
def spin(n)
  i = 0
  i += 1 while i < n
end
def in_fiber
  5.times { spin(20_000); Fiber.yield }
end
puts 'ready'
STDOUT.flush
Thread.new { STDIN.read; $ended = true }
until $ended
  fibers = 20.times.map { Fiber.new { in_fiber } }
  5.times { fibers.each(&:resume) }
end
"""

# Garbage, exceptions, deep recursion, fibers, code and threads that come and go.
STORM = """
def deep(n); n == 0 ? 0 : 1 + deep(n - 1); end
def storm(i)
  deep(2000)
  eval("def made#{i}(x); x.map { |y| y + #{i} }; end")
  send("made#{i}", [1, 2, 3])
  begin
    deep(20)
    raise 'x'
  rescue StandardError => error
    error.message
  end
  fiber = Fiber.new { deep(30); Fiber.yield 1; deep(10) }
  2.times { fiber.resume }
  Array.new(500) { |k| "s#{k}" }.sort_by(&:size)
  GC.stress = true
  [1, 2].map { |x| x.to_s + 'a' }
  GC.stress = false
  GC.start
end
threads = 2.times.map { Thread.new { storm(rand(50)) until $ended } }
starter = Thread.new { 4.times.map { Thread.new { deep(30) } }.each(&:join) until $ended }
puts 'ready'
STDOUT.flush
STDIN.read
$ended = true
(threads << starter).each(&:join)
puts 'whole'
"""


def programs():
    return languages.programs("ruby", "SWIPR_RUBIES")


@sampling.sampled
class RubyTest(languages.LanguageCase):
    def for_each_ruby(self, check, text, name):
        self.assertTrue(programs(), "no ruby on this machine")
        for path in programs():
            with self.subTest(ruby=path):
                check(path, self.source(text, f"{name}.rb"))

    def has_compiler(self, path):
        return b"+YJIT" in self.start(path, *YJIT, "-e", "puts RUBY_DESCRIPTION").wait().out

    def test_shares(self):
        self.for_each_ruby(self.check_shares, SHARES, "shares")

    def check_shares(self, path, source):
        program = self.run_program(path, source)
        recording, times = self.record_shares(program)
        stacks = [s for s in self.convert(recording, "collapsed", "--weight", "cpu") if "run (shares.rb)" in s.frames]
        self.check_lost(stacks, 0.005)
        self.check_parts(stacks, times, "{} (shares.rb)")

    def test_chains(self):
        self.for_each_ruby(self.check_chains, CHAINS, "chains")

    def check_chains(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--count", 2000, "--interval", "1ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        self.check_lost(stacks, 0.03)  # code of eval is collected when it has run
        whole = sum(s.weight for s in stacks if self.is_true_chain(s))
        self.assertGreater(whole, 0.9 * profiles.total(stacks))

    def is_true_chain(self, stack):
        """Asserts that each method has its only caller before it. False: there are none, or the first one's caller is
        missing. Fibers have stacks of their own, which begin with their block."""
        own = [m for f in stack.frames if (m := re.fullmatch(r"(block in )?(r[abc]*) \(\2\.rb\)", f))]
        names = [m[2] for m in own]
        for caller, name in zip(names, names[1:]):
            self.assertTrue(name == caller or name[:-1] == caller, stack.frames)
        return bool(own) and (names[0] == "r" or bool(own[0][1]))

    def test_waits(self):
        """Blocked threads show all lines that Ruby shows, and are not woken."""
        self.for_each_ruby(self.check_waits, WAITS, "waits")

    def check_waits(self, path, source):
        program = self.run_program(path, source)
        truth = [self.lines_of(trace) for trace in json.loads(program.read_line())]
        before = self.voluntary_switches(program.pid)
        recording = self.record(program.pid, "--rate", 200, "--count", 200)
        self.assertEqual(self.voluntary_switches(program.pid), before)
        self.finish(program)
        self.check_undisturbed(recording)
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--frames", "language").out.decode()
        seen = {tuple(re.findall(r"^  (\S*\.rb:\d+)$", stack, re.M)) for stack in text.split("\n\n")}
        self.assertEqual(len(truth), 12)
        for trace in truth:
            self.assertIn(trace, seen)

    def test_compiled_code(self):
        self.for_each_ruby(self.check_compiled_code, LEAF, "leaf")

    def check_compiled_code(self, path, source):
        if not self.has_compiler(path):
            self.skipTest("this ruby has no YJIT")
        program = self.run_program(path, *YJIT, source)
        recording = self.record(program.pid, "--count", 300, "--interval", "2ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        whole = sum(s.weight for s in stacks if s.frames[-2:] == ["caller_of_leaf (leaf.rb)", "leaf (leaf.rb)"])
        self.assertGreater(whole, 0.9 * profiles.total(stacks))

    def test_fibers(self):
        self.for_each_ruby(self.check_fibers, FIBERS, "fibers")

    def check_fibers(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--count", 400, "--interval", "2ms")
        self.finish(program)
        (read,) = raw.read(recording.read_bytes()).values()
        self.assertGreater(read.totals["stacks_rooted"], 0.9 * read.totals["stacks_walked"])
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        whole = [s for s in stacks if any("(fibers.rb)" in f for f in s.frames)]
        self.assertGreater(profiles.total(whole), 0.9 * profiles.total(stacks))
        spinning = [s for s in stacks if "spin (fibers.rb)" in s.frames]
        self.assertGreater(profiles.total(spinning), 0.3 * profiles.total(stacks))
        self.assertTrue(all("in_fiber (fibers.rb)" in s.frames for s in spinning))

    def test_methods_in_c(self):
        self.for_each_ruby(self.check_methods_in_c, BUILT_IN, "built_in")

    def check_methods_in_c(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--count", 400, "--interval", "2ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        chain = ["rewrite (built_in.rb)", "String#gsub", "block in rewrite (built_in.rb)", "String#upcase"]
        own = [(stack.frames[stack.frames.index(chain[0]):], stack.weight) for stack in stacks if chain[0] in stack.frames]
        own = [([f for f in frames if f != "[garbage collection]"], weight) for frames, weight in own]
        self.assertGreater(sum(weight for _, weight in own), 0.95 * profiles.total(stacks))
        for length in (2, 3, 4):
            self.assertIn(chain[:length], [frames for frames, _ in own])
        whole = sum(weight for frames, weight in own if frames == chain[:len(frames)])
        self.assertGreater(whole, 0.95 * profiles.total(stacks))
        mixed = self.convert(recording, "collapsed", "--weight", "cpu")
        # The functions of C that run the method, and call its block, stand between the two.
        both = [(s.frames, s.weight) for s in mixed if chain[2] in s.frames]
        between = sum(weight for frames, weight in both if frames.index(chain[1]) + 1 < frames.index(chain[2]))
        self.assertGreater(between, 0.95 * sum(weight for _, weight in both))

    def lines_of(self, trace):
        """Of the program's own functions: those in C have the line of their caller."""
        own = (re.fullmatch(r"(.*:\d+):in [`'](?:block in )?(?:Waits#)?(?:in_\w+|fall|.*<main>)'", line) for line in trace)
        return tuple(m[1] for m in own if m)

    def voluntary_switches(self, pid):
        """Of all threads but swipr's own and Ruby's timer."""
        switches = {}
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8") as status:
                text = status.read()
            name = re.search(r"^Name:\s*(.*)$", text, re.M)[1]
            if name.startswith("waits.rb"):
                switches[tid] = int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", text, re.M)[1])
        return switches

    def test_storm(self):
        """The program survives, and its functions have names."""
        self.for_each_ruby(self.check_storm, STORM, "storm")

    def check_storm(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--count", 3000, "--rate", 1000)
        self.assertEqual(self.finish(program).strip(), "whole")
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        self.assertTrue(profiles.has_function(stacks, r"^storm \(storm\.rb\)$"))
        self.check_lost(stacks, 0.02)

    def test_selected_frames(self):
        program = self.run_program(programs()[0], self.source(SHARES, "shares.rb"))
        self.check_selected_frames(program, r"ruby \d+\.\d+\.\d+: frames are read", "run (shares.rb)", r"\(shares\.rb\)", "rb")

    def test_switched_off(self):
        program = self.run_program(programs()[0], self.source(SHARES, "shares.rb"), env={"SWIPR_RUNTIMES": "0"})
        self.check_switched_off(program, r"shares\.rb")


if __name__ == "__main__":
    unittest.main()
