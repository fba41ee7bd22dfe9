"""Frames of Python: shares, chains, lines and waits of programs whose truth is known, in every CPython that is here."""

import collections
import json
import os
import re
import unittest

from support import languages, products, profiles, repetition, sampling
from support.interpreters import interpreters

# The worker's functions use 70, 20 and 10 % of its CPU time, and say so themselves.
SHARES = """
import sys, threading, time
used = {"seventy": 0.0, "twenty": 0.0, "ten": 0.0}
def burn(name, seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(200))
    used[name] += time.thread_time() - begin
def seventy(): burn("seventy", 0.007)
def twenty(): burn("twenty", 0.002)
def ten(): burn("ten", 0.001)
class Worker:
    def run(self):
        while not ended.is_set():
            seventy(); twenty(); ten()
def naps():
    while not ended.is_set():
        time.sleep(0.3)        # line of the nap
def waits():
    ended.wait()               # line of the wait
ended = threading.Event()
threads = [threading.Thread(target=t) for t in (Worker().run, naps, waits)]
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.read()
ended.set()
for thread in threads: thread.join()
print(*(f"{used[name]:.6f}" for name in ("seventy", "twenty", "ten")), flush=True)
"""

# Every function is called by one other: its name is that of its caller and one letter more. Calls go through
# Python, C functions that call back, generators, and code that is compiled at run time.
CHAINS = """
import functools, random, sys, threading
random.seed(14)
ended = False
def leaf(n):
    for _ in range(n): pass
def make(name, depth):
    calls = []
    for letter in "abc":
        child = name + letter
        if depth > 0: make(child, depth - 1)
        ways = [f"{child}()", f"list(map(lambda_{child}, [1]))", f"sorted([1, 2], key=lambda_{child})",
                f"functools.reduce(lambda_{child}2, [1, 2])", f"next(generator_{child}())"]
        calls.append(f"    if way == {len(calls)}: {random.choice(ways) if depth > 0 else 'leaf(300)'}\\n")
    source = f"def {name}(way=None):\\n    way = random.randrange(3)\\n" + "".join(calls)
    source += (f"def lambda_{name}(value): return {name}() or 1\\n"
               f"def lambda_{name}2(left, right): return {name}() or 1\\n"
               f"def generator_{name}():\\n    yield {name}() or 1\\n")
    exec(compile(source, f"<{name}>", "exec"), globals())
make("r", 4)
def work():
    while not ended: r()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.read()
ended = True
for thread in threads: thread.join()
"""

GIL = """
import sys, threading
def spin(n):
    for _ in range(n): pass
def alpha():
    while not ended: spin(10000)
def beta():
    while not ended: spin(10000)
ended = False
threads = [threading.Thread(target=t) for t in (alpha, beta)]
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.read()
ended = True
for thread in threads: thread.join()
"""

DEEP = """
import sys, time
sys.setrecursionlimit(100000)
def fall(n):
    if n == 0:
        print("ready", flush=True)
        sys.stdin.read()
        return
    fall(n - 1)
def bottom(): fall(int(sys.argv[1]))
bottom()
"""

# One thread collects, and Python tells for how long. Another has no garbage, and needs the GIL.
GARBAGE = """
import gc, sys, threading, time
how = sys.argv[1]
gc.disable()
spent = begun = 0
def note(phase, info):
    global spent, begun
    if phase == "start": begun = time.thread_time()
    else: spent += time.thread_time() - begun
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def collects():
    while not ended:
        if how == "explicit":
            gc.collect()
            burn(0.02)
        else:
            for _ in range(1000):
                cycle = []
                cycle.append(cycle)
    used.append(time.thread_time())
def spins():
    while not ended: burn(0.01)
ended, used = False, []
kept = [[] for _ in range(200000)]
gc.callbacks.append(note)
threads = [threading.Thread(target=target) for target in (collects, spins)]
if how == "automatic":
    gc.set_threshold(20000)  # long ones: the time around the callbacks is not told
    gc.enable()
    threads.pop()  # from 3.12 on any thread may run a collection that is due
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.read()
ended = True
for thread in threads: thread.join()
print(spent, used[0], flush=True)
"""

# Each thread waits below 20 functions whose names and files are long: together more than fit.
MANY_NAMES = """
import sys, threading
ended, started = threading.Event(), threading.Semaphore(0)
def bottom():
    started.release()
    ended.wait()
def make(thread):
    called = bottom
    for number in range(20):
        name = f"f{thread}_{number}_" + "n" * 1000
        space = {"called": called}
        exec(compile(f"def {name}(): called()", f"{thread}/{number}/" + "d" * 4000, "exec"), space)
        called = space[name]
    return called
threads = [threading.Thread(target=make(thread)) for thread in range(200)]
for thread in threads: thread.start(); started.acquire()
print("ready", flush=True)
sys.stdin.read()
ended.set()
"""


def language_frames(stack):
    """Names of the frames of Python, root first."""
    return [frame for frame in stack.frames if re.search(r" \([^()]*\)$", frame)]


# A stack whose names need more than 256 KiB.
LONG_FILES = """
import sys
def call(depth):
    if depth == 0:
        print("ready", flush=True)
        return sys.stdin.read()
    exec(compile("call(depth)", 4000 * "f" + str(depth), "exec"), {"call": call, "depth": depth - 1})
call(100)
"""


@sampling.sampled
class PythonTest(languages.LanguageCase):
    def for_each_interpreter(self, check):
        paths = interpreters()
        self.assertTrue(paths, "no CPython of a supported version on this machine")
        for path in paths:
            with self.subTest(interpreter=path):
                check(path)

    def run_python(self, path, text, *arguments, **started):
        return self.run_program(path, self.source(text, "app.py"), *arguments, **started)

    def test_shares(self):
        self.for_each_interpreter(self.check_shares)

    def check_shares(self, path):
        program = self.run_python(path, SHARES)
        recording, times = self.record_shares(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        workers = [s for s in stacks if "Worker.run (app.py)" in s.frames or "run (app.py)" in s.frames]
        for name, seconds in times.items():
            share = sum(s.weight for s in workers if f"{name} (app.py)" in s.frames) / profiles.total(workers)
            # Five standard errors of a share of half of the ticks, which a busy machine may leave.
            truth = seconds / sum(times.values())
            self.assertAlmostEqual(share, truth, delta=5 * (truth * (1 - truth) / 400) ** 0.5, msg=name)
        # Each sample of the worker has the whole chain.
        for stack in workers:
            frames = language_frames(stack)
            bottom = frames.index(next(f for f in frames if f.endswith("run (app.py)") and "threading" not in f))
            self.assertRegex(";".join(frames[:bottom]), r"_bootstrap \(threading.py\);.*_bootstrap_inner .*;.*run ")
        self.check_waits(recording)

    def check_waits(self, recording):
        """Blocked threads show the line of Python in which they wait."""
        lines = {number for number, line in enumerate(SHARES.splitlines(), 1) if "# line of the" in line}
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--state", "blocked").out.decode()
        found = set(map(int, re.findall(r"app\.py:(\d+)", text)))
        self.assertLessEqual(lines, found)

    def test_chains(self):
        self.for_each_interpreter(self.check_chains)

    def check_chains(self, path):
        program = self.run_python(path, CHAINS)
        recording = self.record(program.pid, "--count", 2000, "--interval", "1ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed")
        self.assertGreater(sum(s.weight for s in stacks if self.is_true_chain(s)), 200)
        loops = sum(s.weight for s in stacks if "_PyEval_EvalFrameDefault" in s.frames[:-1])
        self.assertLessEqual(loops, 0.01 * profiles.total(stacks), "interpreter loops in the middle of stacks")
        lost = sum(s.weight for s in stacks if "[function gone]" in s.frames)
        self.assertLessEqual(lost, 0.01 * profiles.total(stacks))

    def is_true_chain(self, stack):
        """Asserts that each function has its only caller before it. False: no such function is there."""
        names = [re.sub(r" \(.*", "", frame) for frame in language_frames(stack)]
        expected = None
        for name in names:
            letters = re.fullmatch(r"(?:lambda_|generator_)?(r[abc]*)2?", name)
            if letters is None:
                continue
            if expected is not None:
                self.assertEqual(letters[1][:-1], expected, stack.frames)
            if expected is None or not name.startswith(("lambda_", "generator_")):
                expected = letters[1]
        return expected is not None

    def test_waits_for_the_gil(self):
        """Two threads that only compute: one of them always waits, and the other holds what it waits for."""
        self.for_each_interpreter(self.check_gil)

    def check_gil(self, path):
        program = self.run_python(path, GIL)
        sums, holders = collections.Counter(), collections.Counter()

        def more():
            recording = self.record(program.pid, "--count", 1000, "--interval", "2ms")
            gil = json.loads(self.swipr("report", "--json", recording).out).get("gil", {"holders": []})
            holders.update({holder["function"]: holder["waited_ns"] for holder in gil.pop("holders")})
            self.assertLessEqual(set(holders), {"spin (app.py)", "alpha (app.py)", "beta (app.py)", ""})
            stacks = self.convert(recording, "collapsed", "--weight", "blocked", "--state-frames", "on")
            spinning = [s for s in stacks if "spin (app.py)" in s.frames and not s.frames[-1].startswith("[runnable")]
            sums.update(gil, blocked=profiles.total(spinning),
                        in_state=sum(s.weight for s in spinning if s.frames[-1] == "[GIL]"))

        def judge():
            self.assertGreater(sums["waited_ns"], 0.2 * (sums["waited_ns"] + sums["running_ns"]))
            self.assertGreater(holders["spin (app.py)"], 0.5 * sums["waited_ns"], holders)
            self.assertGreater(sums["in_state"], 0.9 * sums["blocked"])

        repetition.until_it_holds(more, judge)
        self.finish(program)

    def test_garbage_collection(self):
        self.for_each_interpreter(self.check_garbage)

    def check_garbage(self, path):
        for how in ("explicit", "automatic"):
            with self.subTest(how=how):
                program = self.run_python(path, GARBAGE, how)
                recording = self.record(program.pid, "--count", 1500, "--interval", "2ms")
                spent, used = map(float, self.finish(program).split())
                self.check_collector(recording, spent / used)

    def check_collector(self, recording, truth):
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        collecting = [s for s in stacks if "[garbage collection]" in s.frames]
        found = profiles.total(collecting)
        # The other thread runs during callbacks, and some of its calls may be found only then.
        foreign = sum(s.weight for s in collecting if "collects (app.py)" not in s.frames)
        self.assertLessEqual(foreign, 0.02 * found)
        for stack in collecting:
            python = language_frames(stack)
            before = stack.frames[stack.frames.index("[garbage collection]") - 1]
            self.assertEqual(before, python[-1], stack.frames)
        whole = sum(s.weight for s in stacks if "collects (app.py)" in s.frames)
        running = self.convert(recording, "collapsed", "--weight", "samples", "--state", "running")
        samples = sum(s.weight for s in running if "collects (app.py)" in s.frames)
        self.assertGreater(samples, 20)
        # Five standard errors of a share of half of the samples: their weights are not equal.
        self.assertAlmostEqual((found - foreign) / whole, truth, delta=5 * (truth * (1 - truth) / (samples / 2)) ** 0.5)
        report = json.loads(self.swipr("report", "--json", "--weight", "cpu", recording).out)
        self.assertEqual(report["garbage_collection"], found)
        text = self.swipr("report", "--weight", "cpu", recording).out.decode()
        self.assertRegex(text, r"garbage collection: \d+\.\d % of CPU time")

    def test_deep_stacks(self):
        """Both ends of a recursion that does not fit are kept, and the cut is marked."""
        self.for_each_interpreter(self.check_deep_stacks)

    def check_deep_stacks(self, path):
        for depth in (500, 6000):
            with self.subTest(depth=depth):
                self.check_depth(path, depth)

    def check_depth(self, path, depth):
        if depth > 900 and re.search(r"3\.(8|9|10)$", os.path.realpath(path)):
            return  # these use the C stack for each call
        program = self.run_python(path, DEEP, depth)
        recording = self.record(program.pid, "--count", 20)
        self.finish(program)
        stacks = [s for s in self.convert(recording, "collapsed") if "fall (app.py)" in s.frames]
        self.assertTrue(stacks)
        for stack in stacks:
            frames = language_frames(stack)
            if depth < 1000:
                self.assertEqual(frames.count("fall (app.py)"), depth + 1)
                self.assertEqual(frames[:2], ["<module> (app.py)", "bottom (app.py)"])
            else:
                self.assertIn("[frames omitted]", stack.frames)
                self.assertGreater(frames.count("fall (app.py)"), 1500)

    def test_names_that_do_not_fit(self):
        """There is room for 16 MiB of names. What has none is counted, and said."""
        program = self.run_python("/usr/bin/python3", MANY_NAMES)
        recording = self.record(program.pid, "--interval", "2ms", "--count", 2000, "--max-overhead", "100%")
        self.finish(program)
        report = json.loads(self.swipr("report", "--json", recording).out)
        self.assertGreater(report["processes"][0]["totals"]["stacks_nameless"], 0)
        self.assertTrue([text for text in report["warnings"] if "fill the memory for names" in text], report["warnings"])
        self.assertIn("fill the memory for names", self.swipr("convert", recording, "--format", "collapsed").err)
        self.assertTrue(profiles.has_function(self.convert(recording, "collapsed"), r"^\[function gone\]$"))

    def test_definition_larger_than_a_block(self):
        program = self.run_python("/usr/bin/python3", LONG_FILES)
        recording = self.record(program.pid, "--count", 20)
        self.finish(program)
        totals = json.loads(self.swipr("report", "--json", recording).out)["processes"][0]["totals"]
        self.assertEqual(totals["samples_dropped"], 0)
        depth = max(len(language_frames(stack)) for stack in self.convert(recording, "collapsed"))
        self.assertGreaterEqual(depth, 200)

    def test_selected_frames(self):
        program = self.run_python("/usr/bin/python3", SHARES)
        recording = self.record(program.pid, "--count", 300)
        self.finish(program)
        language = self.convert(recording, "collapsed", "--frames", "language")
        with_python = [s for s in language if language_frames(s)]
        self.assertTrue(with_python)
        for stack in with_python:
            self.assertEqual(stack.frames, language_frames(stack))
        for stack in self.convert(recording, "collapsed", "--frames", "native"):
            self.assertEqual(language_frames(stack), [])
        kinds = self.convert(recording, "collapsed", "--frame-kinds")
        self.assertTrue(profiles.has_function(kinds, r"^twenty \(app.py\)_\[p\]$"))
        self.assertTrue(profiles.has_function(kinds, rf"^{products.THREAD_ROOT}_\[pn\]$"))

    def test_switched_off(self):
        program = self.run_python("/usr/bin/python3", SHARES, env={"SWIPR_RUNTIMES": "0"})
        recording = self.record(program.pid, "--count", 100)
        self.finish(program)
        stacks = self.convert(recording, "collapsed")
        self.assertEqual([s for s in stacks if language_frames(s)], [])
        self.assertTrue(profiles.has_function(stacks, r"^_?Py[A-Z]\w+"))  # not each version's loop has a name


if __name__ == "__main__":
    unittest.main()
