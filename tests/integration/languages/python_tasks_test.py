"""Tasks of asyncio in recordings: where each waits while another blocks the event loop, in every CPython on
this machine whose version is supported."""

import collections
import json
import os
import re
import unittest

from support import root, sampling
from support.case import SwiprCase
from support.interpreters import interpreters

APP = """
import asyncio, sys, threading, time
async def leaf(): await asyncio.sleep(1000)          # line of the leaf
async def middle(): await leaf()
async def numbers():
    yield 1
    await leaf()
async def loop():
    async for number in numbers(): pass
async def gather(): await asyncio.gather(leaf(), leaf())
async def ends(): pass
async def busy():
    while not ended.is_set():
        begin = time.monotonic()
        while time.monotonic() - begin < 0.02: sum(range(1000))
        await asyncio.sleep(0)
async def main():
    started = []
    def start(coroutine, name):
        started.append(asyncio.get_running_loop().create_task(coroutine))
        started[-1].set_name(name)
    for number in range(int(sys.argv[1])): start(middle(), f"one{number}")
    start(loop(), "loop"); start(gather(), "gather"); start(ends(), "ended"); start(leaf(), "cancelled")
    if sys.argv[2] == "busy": start(busy(), "busy")
    await asyncio.sleep(0.01)
    next(task for task in started if task.get_name() == "cancelled").cancel()
    await asyncio.sleep(0.01)
    print("ready", flush=True)
    if sys.argv[2] == "blocked": sys.stdin.read()
    else: await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    ended.set()
ended = threading.Event()
asyncio.run(main())
"""


FIRST = 11  # tasks of older versions are not read
LIMIT = 4096  # tasks of one look


def minor(path):
    return int(re.search(r"python3\.(\d+)$", os.path.realpath(path))[1])


# Two event loops in two threads, that of the main thread blocked; TaskGroup, wait_for, queues.
LOOPS = """
import asyncio, sys, threading
async def leaf(queue): await queue.get()
async def member(): await leaf(asyncio.Queue())
async def group():
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(member(), name=where() + " member")
async def timed(): await asyncio.wait_for(member(), 1000)
def where(): return "main" if threading.current_thread() is threading.main_thread() else "second"
async def main(block):
    loop = asyncio.get_running_loop()
    tasks = [loop.create_task(group(), name=where() + " group"), loop.create_task(timed(), name=where() + " timed")]
    await asyncio.sleep(0.01)
    ready.wait()
    if where() == "main": print("ready", flush=True)
    if block: sys.stdin.read(); ended.set()
    else: await loop.run_in_executor(None, ended.wait)
    for task in tasks: task.cancel()
ready, ended = threading.Barrier(2), threading.Event()
thread = threading.Thread(target=lambda: asyncio.run(main(False)))
thread.start()
asyncio.run(main(True))
thread.join()
"""


# Tasks that run all the time, and create others that end. The functions of each have its number.
MOVING = """
import asyncio, sys
functions = {"asyncio": asyncio}
for number in range(20):
    exec(f"async def c{number}():\\n await asyncio.sleep(0)\\n await asyncio.sleep(0.0005)\\n"
         f"async def b{number}(): await c{number}()\\nasync def a{number}(): await b{number}()", functions)
async def worker(number):
    while not ended:
        await functions[f"a{number}"]()
        await asyncio.create_task(functions[f"b{number}"](), name=f"short{number}")
async def main():
    workers = [asyncio.create_task(worker(number), name=f"long{number}") for number in range(20)]
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    ended.append(True)
    await asyncio.gather(*workers)
ended = []
asyncio.run(main())
"""


@sampling.sampled
class PythonTasksTest(SwiprCase):
    def for_each_interpreter(self, check):
        paths = [path for path in interpreters() if minor(path) >= FIRST]
        if root.current() and not paths:
            self.skipTest("this Python is older than those whose tasks are read")
        self.assertTrue(paths, "no CPython of a supported version on this machine")
        for path in paths:
            with self.subTest(interpreter=path):
                check(path)

    def record_tasks(self, path, tasks, how, *options, app=APP, ticks=(150, "10ms")):
        script = self.folder / "app.py"
        script.write_text(app)
        program = self.start(path, script, tasks, how, preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        recording = self.record(program.pid, "--count", ticks[0], "--interval", ticks[1], *options)
        self.assertEqual(program.end().code, 0)
        return recording

    def chains(self, recording):
        """{task: {its chain of Python's frames, root first}}"""
        found = collections.defaultdict(set)
        for stack in self.convert(recording, "collapsed", "--weight", "wall"):
            if stack.thread.startswith("task "):
                names = tuple(re.sub(r" \(.*", "", frame) for frame in stack.frames if frame != "[await]")
                found[stack.thread.removeprefix("task ")].add(names)
        return found

    def walls(self, recording):
        """{thread: its time by the wall clock}"""
        found = collections.Counter()
        for stack in self.convert(recording, "collapsed", "--weight", "wall"):
            found[stack.thread] += stack.weight
        return found

    def test_blocked_loop(self):
        self.for_each_interpreter(self.check_blocked_loop)

    def check_blocked_loop(self, path):
        recording = self.record_tasks(path, 2, "blocked", "--tasks")
        found = self.chains(recording)
        unnamed = [name for name in found if name.startswith("Task-")]
        self.assertEqual(len(unnamed), 2, "those of gather; the task that runs is no wait")
        expected = {
            "one0": ("middle", "leaf", "sleep"),
            "one1": ("middle", "leaf", "sleep"),
            "loop": ("loop", "numbers", "leaf", "sleep"),
            "gather": ("gather",),
            **dict.fromkeys(unnamed, ("leaf", "sleep")),
        }
        self.assertEqual(dict(found), {name: {chain} for name, chain in expected.items()})
        # Tasks wait as long as the thread does, and use no CPU time.
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        self.assertFalse([s for s in stacks if s.thread.startswith("task ")])
        walls = self.walls(recording)
        whole = max(weight for thread, weight in walls.items() if not thread.startswith("task "))
        report = json.loads(self.swipr("report", "--json", recording).out)
        self.assertEqual(report["processes"][0]["totals"]["threads"], 1)
        tasks = {entry["chain"]: entry["tasks"] for entry in report["tasks"]}
        self.assertEqual(tasks["middle (app.py) → leaf (app.py) → sleep (tasks.py)"], 2)
        self.assertIn(b"where tasks of asyncio waited", self.swipr("report", recording).out)
        for name in expected:
            self.assertGreater(walls[f"task {name}"], 0.9 * whole, name)
            self.assertLessEqual(walls[f"task {name}"], 1.001 * whole, name)

    def test_busy_loop(self):
        self.for_each_interpreter(self.check_busy_loop)

    def check_busy_loop(self, path):
        found = self.chains(self.record_tasks(path, 20, "busy", "--tasks"))
        for number in range(20):
            self.assertEqual(found[f"one{number}"], {("middle", "leaf", "sleep")})
        self.assertLessEqual(found["busy"], {("busy",), ("busy", "sleep"), ("busy", "sleep", "__sleep0")})

    def test_loops_in_threads(self):
        self.for_each_interpreter(self.check_loops_in_threads)

    def check_loops_in_threads(self, path):
        found = self.chains(self.record_tasks(path, 0, "", "--tasks", app=LOOPS))
        for where in "main", "second":
            # 3.13.4 and later have the second half of __aexit__ in a function of its own.
            (chain,) = found[f"{where} group"]
            self.assertIn(chain[2:], ((), ("TaskGroup._aexit",)))
            self.assertEqual(chain[:2], ("group", "TaskGroup.__aexit__"))
            self.assertEqual(found[f"{where} member"], {("member", "leaf", "Queue.get")})
            # From 3.12 on wait_for awaits in its own task.
            timed = ("timed", "wait_for") + (("member", "leaf", "Queue.get") if minor(path) >= 12 else ())
            self.assertEqual(found[f"{where} timed"], {timed})

    def test_moving_tasks(self):
        """A chain is never made of two moments, or of two tasks."""
        self.for_each_interpreter(self.check_moving_tasks)

    def check_moving_tasks(self, path):
        recording = self.record_tasks(
            path, 0, "", "--tasks", "--max-overhead", "50%", app=MOVING, ticks=(1000, "2ms"))
        found = self.chains(recording)
        found.pop("Task-1", None)
        self.assertTrue(found)
        for name, chains in found.items():
            for chain in chains:
                # create_task makes the task, and then sets its name: it is Task-N for a moment.
                number = re.search(r"\d+$", chain[0] if name.startswith("Task-") else name)[0]
                whole = [f"{letter}{number}" for letter in "abc"] + ["sleep", "__sleep0"]
                whole = ["worker", *whole] if name.startswith("long") else whole[1:]
                self.assertEqual(list(chain), whole[: len(chain)], name)

    def test_thousands(self):
        self.for_each_interpreter(self.check_thousands)

    def check_thousands(self, path):
        recording = self.record_tasks(path, 10_000, "blocked", "--tasks")
        found = self.chains(recording)
        self.assertGreater(len(found), 200)
        self.assertLessEqual(len(found), LIMIT)
        walls = self.walls(recording)
        whole = max(weight for thread, weight in walls.items() if not thread.startswith("task "))
        for name, chains in found.items():
            self.assertLessEqual(walls[f"task {name}"], 1.001 * whole, name)
            if name.startswith("one"):
                self.assertEqual(chains, {("middle", "leaf", "sleep")})
        self.assertIn("more tasks of asyncio than 4,096", self.swipr("report", recording).err)
        report = json.loads(self.swipr("report", "--json", recording).out)
        left_out = report["processes"][0]["totals"]["tasks_left_out"]
        self.assertGreaterEqual(left_out + LIMIT, 10_000)

    def test_older_version(self):
        for path in interpreters():
            if minor(path) < FIRST:
                recording = self.record_tasks(path, 2, "blocked", "--tasks")
                self.assertFalse(self.chains(recording))
                self.assertIn("tasks are read from CPython 3.11 on", self.swipr("report", recording).err)

    def test_not_asked(self):
        for path in interpreters()[:1]:
            self.assertFalse(self.chains(self.record_tasks(path, 2, "blocked")))

    def test_no_tasks(self):
        target = self.start_target("waiter_nofp")
        recording = self.record(target.pid, "--count", 5, "--tasks")
        self.assertIn("no task of asyncio was found", self.swipr("report", recording).err)
        self.assert_one_line_error(
            self.swipr("record", "--pid", target.pid, "--mode", "cpu", "--tasks", expect=2), "--tasks", codes=(2,))


if __name__ == "__main__":
    unittest.main()
