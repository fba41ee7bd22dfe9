"""Programs in Python that tell, at the place where they wait or compute, the frames that Python itself sees there,
and the frames that a recording has of them."""

import collections
import json
import os
import re

from support.case import SwiprCase

# `here` tells the truth about its callers, then waits, computes, or does both in short bursts until its input
# ends. "brief": it computes for 0.3 s. The truth: process, thread, and (name, file, line) of each frame, root first.
HERE = """
import json, os, select, sys, threading, time, traceback
def truth():
    frames = [(getattr(f.f_code, "co_qualname", f.f_code.co_name), os.path.basename(f.f_code.co_filename), line)
              for f, line in traceback.walk_stack(sys._getframe(1))]
    return frames[::-1]
def here(before=()):
    how = os.environ["HOW"]
    busy = {"wait": 0, "burn": 0.02, "nap": 0.001, "brief": 0.3}[how]
    told = {"pid": os.getpid(), "tid": threading.get_native_id(), "frames": [*before, *truth()]}
    os.write(1, (json.dumps(told) + chr(10)).encode())
    if how != "brief": os.write(1, b"ready" + bytes([10]))
    while True:
        if how == "wait": select.select([0], [], [])
        if how == "nap": time.sleep(0.009)
        begin = time.thread_time()
        while time.thread_time() - begin < busy: pass
        if how == "brief" or select.select([0], [], [], 0)[0]: return True
"""

PLAIN = HERE + """
def middle():
    here()
def outer():
    middle()
"""


class Chain:
    """A stack: its frames of Python as in the truth, and all frames' names, root first."""

    def __init__(self, head):
        self.pid, self.tid, self.weight = int(head["pid"]), int(head["tid"]), int(head["period"] or 1)
        self.python, self.all = [], []

    def is_true(self, truth):
        """All but the line in `here`, the innermost, where the truth is told at another one."""
        return ([tuple(frame) for frame in truth[:-1]] == self.python[:-1]
                and bool(self.python) and list(self.python[-1][:2]) == truth[-1][:2])


_HEAD = re.compile(r".+-T(?P<tid>\d+)\s+(?P<pid>\d+)/\d+\s+[\d.]+:\s+(?:(?P<period>\d+)\s+)?swipr:?\s*$")
_FRAME = re.compile(r"\t\s+(?P<pc>[0-9a-f]+) (?P<name>.*) \((?P<file>[^()]*)\)$")


def parse_chains(text):
    """Of perf text with lines of files."""
    chains = []
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        head = _HEAD.match(lines[0])
        if head is None:
            continue
        chain = Chain(head)
        for at in range(1, len(lines)):
            frame = _FRAME.match(lines[at])
            if frame is None or frame["file"] == "[swipr]":
                continue
            place = re.match(r"  (.*):(\d+)$", lines[at + 1]) if at + 1 < len(lines) else None
            base = os.path.basename(frame["file"])
            if frame["pc"] == "0":
                chain.python.insert(0, (frame["name"], base, int(place[2]) if place else 0))
                chain.all.insert(0, f"{frame['name']} ({base})")
            else:
                chain.all.insert(0, re.sub(r"(\+0x[0-9a-f]+)? *(\[inlined\])?(\+0x[0-9a-f]+)?$", "", frame["name"]) +
                                 "@" + base)
        chains.append(chain)
    return chains


class TruthCase(SwiprCase):
    def write(self, text):
        script = self.folder / "app.py"
        script.write_text(text)
        script.chmod(0o644)
        return script

    def begin(self, text, how, *command, env=None, truths=1):
        """Starts it and reads its truths: (program, truths)."""
        variables = {"HOW": how, "PYTHONPATH": str(self.target_path("looping.abi3.so").parent), **(env or {})}
        program = self.start(*(command or ("/usr/bin/python3",)), self.write(text), preloaded=True, env=variables)
        told = [self.read_truth(program) for _ in range(truths)]
        self.wait_for_socket(program.pid)
        return program, told

    def read_truth(self, program):
        told = json.loads(program.read_line())
        self.assertEqual(program.read_line(), "ready")
        return told

    def chains(self, recording):
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--no-inlines").out.decode()
        return parse_chains(text)

    def finish(self, program):
        finished = program.end()
        self.assertEqual(finished.code, 0, finished)

    def assert_true(self, chains, told, share=1.0, least=1):
        """Of the thread's samples, this share has exactly the frames that it told. A busy machine answers some ticks
        too late for a stack; who is blocked need not answer (share 1)."""
        mine = [chain for chain in chains if (chain.pid, chain.tid) == (told["pid"], told["tid"])]
        if share < 1:
            mine = [chain for chain in mine if chain.all]
        weight = sum(chain.weight for chain in mine)
        good = sum(chain.weight for chain in mine if chain.is_true(told["frames"]))
        bad = collections.Counter()
        for chain in mine:
            if not chain.is_true(told["frames"]):
                bad[tuple(chain.all)] += chain.weight
        self.assertGreaterEqual(weight, least, "samples of the thread")
        self.assertGreaterEqual(good, share * weight, f"told: {told}\nothers: {bad.most_common(2)}")

    def assert_order(self, chains, order, tid):
        """In each of the thread's stacks there are these frames in this order."""
        for chain in chains:
            if chain.tid != tid:
                continue
            rest = iter(chain.all)
            for wanted in order:
                is_there = any(frame == wanted or frame.startswith(f"{wanted}@") for frame in rest)
                self.assertTrue(is_there, (wanted, chain.all))

    def check(self, text, how, *command, env=None, arguments=(), order=(), count=40, interval="5ms"):
        program, (told,) = self.begin(text, how, *command, env=env)
        recording = self.record(program.pid, "--count", count, "--interval", interval, *arguments)
        self.finish(program)
        chains = self.chains(recording)
        self.assert_true(chains, told, share=1.0 if how == "wait" else 0.9)
        self.assert_order([chain for chain in chains if chain.is_true(told["frames"])], order, told["tid"])
        return recording
