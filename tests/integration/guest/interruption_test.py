"""Calls that a signal handler is known to break behave while they are recorded as they do without:
result, errno and full time; and waiting threads are not woken."""

import pathlib
import random
import re
import time
import unittest

from support import deadline, raw, stalls
from support.case import SwiprCase

RATES = (100, 1000, 10000)
ROUNDS = 3
WALKS = {"signal-free": {}, "by signal": {"SWIPR_SIGNAL_FREE": "off"}}


def rows_of_one_round(targets):
    """Returns the output of each target by key; all make their calls at the same time."""
    for target in targets.values():
        target.send("\n")
    return {key: list(iter(target.read_line, "done")) for key, target in targets.items()}


def voluntary_switches(pid, names):
    """The kernel's count of how often each thread has gone to sleep, by thread name."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        if name in names:
            status = (task / "status").read_text()
            found[name] = int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M).group(1))
    return found


class InterruptionTest(SwiprCase):
    def start_recording(self, pid, rate):
        path = self.folder / f"{pid}.swipr"
        running = self.start_swipr("record", "--pid", pid, "--rate", rate, "-o", path)
        deadline.wait_until(lambda: path.exists() and path.stat().st_size > 0, "the recording's beginning")
        return running, path

    def check_calls(self, build):
        program = f"interruptible_{build}"
        targets = {"plain": self.start_target(program, preloaded=False)}
        recordings = {}
        for walk, environment in WALKS.items():
            for rate in RATES:
                target = targets[walk, rate] = self.start_target(program, env=environment)
                recordings[walk, rate] = self.start_recording(target.pid, rate)
        rounds = [rows_of_one_round(targets) for _ in range(ROUNDS)]
        for target in targets.values():
            self.assertEqual(target.end().code, 0)
        # Deviations that also occur without swipr are ignored.
        expected = [set(variants) for variants in zip(*(rows["plain"] for rows in rounds))]
        for key, (recording, path) in recordings.items():
            self.assertEqual(recording.wait().code, 0)
            (source,) = raw.read(path.read_bytes()).values()
            with self.subTest(build=build, key=key):
                for rows in rounds:
                    self.assertEqual(len(rows[key]), len(expected))
                    differing = [row for row, variants in zip(rows[key], expected) if row not in variants]
                    self.assertEqual(differing, [])
                self.assertEqual(source.totals["calls_interrupted"], 0)

    def test_calls_without_frame_pointers(self):
        self.check_calls("nofp")

    def test_calls_with_frame_pointers(self):
        self.check_calls("fp")

    def check_short_calls(self, rate, *arguments, environment=None):
        target = self.start_target("many_calls_nofp", *arguments, env=environment)
        path = self.record(target.pid, "--duration", "2s", "--rate", rate, "--max-overhead", "50%")
        (source,) = raw.read(path.read_bytes()).values()
        rows = [line.split() for line in target.end().out.decode().splitlines()]
        self.assertEqual([(name, wrong) for name, _, wrong in rows if wrong != "0"], [])
        self.assertTrue(all(int(calls) > 0 for _, calls, _ in rows), rows)
        self.assertEqual(source.totals["calls_interrupted"], 0)
        self.assertGreater(source.totals["signals_sent"] + source.totals["cpu_timer_stacks"], 0)
        stacks = self.convert(path, "collapsed", "--weight", "samples", "--state-frames", "on")
        nameless = [s for s in stacks if s.frames[-1] == "[blocked]" and s.frames[0] != "[no stack]"]
        self.assertEqual(nameless, [], "each wait has the name of its call")
        return {name: int(calls) for name, calls, _ in rows}

    def test_short_calls_that_signals_meet_in_the_kernel(self):
        for rate in (1000, 10000):
            with self.subTest(rate=rate):
                self.check_short_calls(rate)

    def test_short_calls_of_a_program_that_calls_system(self):
        self.check_short_calls(10000, "system", environment={"SWIPR_SIGNAL_FREE": "off"})

    def test_the_programs_own_signals_end_its_waits(self):
        for walk, environment in WALKS.items():
            with self.subTest(walk=walk):
                calls = self.check_short_calls(10000, "signals", environment=environment)
                self.assertGreater(calls["signals"], 100)

    def test_waits_do_not_begin_again_when_the_control_thread_gets_no_cpu(self):
        target = self.start_target("long_waits_nofp", env={"SWIPR_SIGNAL_FREE": "off"})
        recording = self.start_swipr("record", "--pid", target.pid, "--rate", 1000, "--max-overhead", "50%", "-o",
                                     self.folder / "stalled.swipr")
        with stalls.stalling(stalls.find_thread(target.pid, "swipr")) as stall:
            for _ in range(30):
                time.sleep(random.uniform(0.02, 0.05))  # so that waits begin, and are met while they are young
                stall(0.09)
        waits, late = map(int, target.end().out.split())
        self.assertEqual(recording.wait().code, 0)
        self.assertGreater(waits, 500)
        self.assertEqual(late, 0)

    def test_waiting_threads_are_not_woken(self):
        names = {"poll", "epoll", "condition", "mutex", "read", "nanosleep"}
        for build in ("nofp", "fp"):
            with self.subTest(build=build):
                target = self.start_target(f"blocked_{build}")
                before = voluntary_switches(target.pid, names)
                path = self.record(target.pid, "--count", 100, "--interval", "1ms")
                self.assertEqual(voluntary_switches(target.pid, names), before)
                self.assertEqual(before.keys(), names)
                (source,) = raw.read(path.read_bytes()).values()
                self.assertEqual(source.totals["signals_to_blocked"], 0)
                self.assertEqual(source.totals["stacks_rooted"], source.totals["stacks_walked"])


if __name__ == "__main__":
    unittest.main()
