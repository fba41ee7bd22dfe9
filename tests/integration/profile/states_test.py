"""Thread states as a filter and as frames, in every output; stale sockets that list removes."""

import json
import os
import socket
import unittest

from support import products, profiles, raw
from support.case import SwiprCase

WAITS = {"poll": f"[{products.POLL}]", "epoll": f"[{products.EPOLL_WAIT}]", "read": "[read]"}


class LeftoversTest(SwiprCase):
    def test_list_removes_what_killed_agents_left_under_hidden_names(self):
        old, young, file = (self.sockets / f".swipr-{number}-7" for number in (1, 2, 3))
        for path in (old, young):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
        file.write_text("no socket")
        for path in (old, file):
            os.utime(path, (1, 1))
        self.swipr("list", "--json")
        self.assertFalse(old.exists())
        self.assertTrue(young.exists(), "its process may be about to listen")
        self.assertTrue(file.exists())


class StatesTest(SwiprCase):
    def record_blocked_and_running(self):
        """A recording of threads that wait in known calls, with the process that looks on."""
        target = self.start_target("blocked_nofp")
        path = self.record(target.pid, "--count", 20, "--interval", "2ms")
        self.assertEqual(target.end().code, 0)
        return path

    def test_waits_are_innermost_frames_when_asked(self):
        path = self.record_blocked_and_running()
        for fmt in ("collapsed", "pprof"):
            stacks = self.convert(path, fmt, "--weight", "samples", "--state-frames", "on")
            without = self.convert(path, fmt, "--weight", "samples", "--state-frames", "off")
            for thread, frame in WAITS.items():
                with self.subTest(format=fmt, thread=thread):
                    mine = [stack for stack in stacks if stack.thread == thread]
                    self.assertTrue(mine)
                    for stack in mine:
                        self.assertEqual(stack.frames[-1], frame)
                    self.assertFalse(profiles.has_function(without, rf"^\[{thread}"))
        perf = self.convert(path, "perf", "--weight", "samples")
        self.assertEqual({s.state for s in perf if s.thread == "poll"}, {WAITS["poll"]})
        perf = self.convert(path, "perf", "--weight", "samples", "--state-frames", "off")
        self.assertEqual({s.state for s in perf}, {""})

    def test_filter_leaves_only_the_states_asked_for(self):
        target = self.start_target("shares_nofp")
        running, data = self.start_streaming(target.pid, "--interval", "2ms")
        path = self.finish_streaming_when(
            running, data, lambda stacks: profiles.has_function(stacks, "seventy_percent")
        )
        for fmt in ("collapsed", "perf", "pprof"):
            with self.subTest(format=fmt):
                every = self.convert(path, fmt, "--weight", "samples")
                blocked = self.convert(path, fmt, "--weight", "samples", "--state", "blocked")
                others = self.convert(path, fmt, "--weight", "samples", "--state", "running,runnable,unknown")
                self.assertFalse(profiles.has_function(blocked, "seventy_percent"))
                self.assertTrue(profiles.has_function(others, "seventy_percent"))
                self.assertEqual(profiles.total(blocked) + profiles.total(others), profiles.total(every))
        report = self.swipr("report", path, "--weight", "samples", "--state", "blocked").out.decode()
        self.assertNotIn("seventy_percent", report)

    def test_modes_record_only_their_part(self):
        target = self.start_target("waiter_nofp")
        for mode, number in (("cpu", raw.CPU), ("offcpu", raw.OFF_CPU), ("wall", raw.WALL)):
            with self.subTest(mode=mode):
                path = self.record(target.pid, "--count", 100, "--interval", "2ms", "--mode", mode)
                (source,) = raw.read(path.read_bytes()).values()
                self.assertEqual(source.mode, number)
                report = json.loads(self.swipr("report", "--json", path).out)
                self.assertEqual(report["processes"][0]["mode"], mode)
                self.assertEqual(report["weight"], "blocked" if mode == "offcpu" else "cpu")
                self.assertGreater(report["weight_total"], 0)
                states = {stack.state for stack in self.convert(path, "pprof", "--weight", "samples")}
                if mode == "cpu":
                    self.assertEqual(states, {"running"})
                if mode == "offcpu":
                    self.assertEqual(source.totals["signals_sent"], 0)
                    self.assertLessEqual(states, {"blocked", "runnable"})
        self.assertEqual(target.end().code, 0)

    def test_a_reader_that_goes_away_ends_convert_without_a_word(self):
        path = self.record_blocked_and_running()
        for command in (("convert", path, "--format", "perf"), ("report", path), ("list", "--json")):
            with self.subTest(command=command[0]):
                read_end, write_end = os.pipe()
                os.close(read_end)
                running = self.start_swipr(*command, stdout=write_end)
                os.close(write_end)
                finished = running.process.wait()
                self.assertNotEqual(finished, 0)
                self.assertEqual(running.err(), "")


if __name__ == "__main__":
    unittest.main()
