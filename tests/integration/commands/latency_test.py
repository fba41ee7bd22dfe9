"""swipr latency: durations of functions of a running program, as the program itself measured them."""

import json
import math
import pathlib
import signal
import unittest

from support.case import SwiprCase

BUCKET_ERROR = 0.016
SPINS = 2000
FAST, SLOW, EVERY = 100_000, 1_000_000, 20  # ns; each 20th call is slow


class LatencyTest(SwiprCase):
    def start_calls(self):
        return self.start_target("calls_nofp")

    def start_latency(self, target, *arguments):
        """Has begun to measure: a first interval has been printed."""
        running = self.start_swipr("latency", "--pid", target.pid, "-i", "50ms", "--json", *arguments)
        first = json.loads(running.read_line())
        self.assertFalse(first["final"])
        return running

    def finish(self, running):
        """Ctrl-C; the object of all calls."""
        running.signal(signal.SIGINT)
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        *_, last = [json.loads(line) for line in finished.out.splitlines()]
        self.assertTrue(last["final"])
        return last

    def test_durations_are_those_that_the_program_measures(self):
        target = self.start_calls()
        running = self.start_latency(target, "timed_call")
        target.send(f"spin {SPINS} {FAST} {SLOW} {EVERY}\n")
        measured = [int(text) for text in target.read_line().split()]
        function, = self.finish(running)["functions"]
        self.assertEqual(function["function"], "timed_call")
        self.assertEqual(function["calls"], SPINS)
        self.assertEqual(function["open"], 0)
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
            rank = math.ceil(share * SPINS) - 1
            # The program's clock is read outside of the traced call, and again inside of it; the thread may lose its
            # CPU in between, which is not the call's.
            self.assertGreaterEqual(function["quantiles_ns"][name], (1 - BUCKET_ERROR) * measured[rank - 5] - 2000, name)
            self.assertLessEqual(function["quantiles_ns"][name], (1 + BUCKET_ERROR) * measured[rank], name)
        self.assertLessEqual(function["quantiles_ns"]["max"], measured[-1])
        self.assertLessEqual(function["sum_ns"], sum(measured))
        self.assertGreaterEqual(function["sum_ns"], SPINS * FAST)
        self.assertEqual(sum(count for _, _, count in function["buckets"]), SPINS)
        self.assertAlmostEqual(function["modes"][0]["ns"], FAST, delta=0.05 * FAST)
        self.assertGreaterEqual(len(function["modes"]), 2)  # a busy machine adds others
        self.assertEqual(target.end().code, 0)

    def test_exceptions_are_counted(self):
        target = self.start_calls()
        running = self.start_latency(target, "throwing_call")
        target.send("throw 1000\n")
        self.assertEqual(target.read_line(), "500")
        function, = self.finish(running)["functions"]
        self.assertEqual((function["calls"], function["exceptions"]), (1000, 500))
        self.assertEqual(target.end().code, 0)

    def test_several_functions_by_all_kinds_of_names(self):
        target = self.start_calls()
        running = self.start_latency(target, "throwing*", "calls_nofp!timed_call", "twins::twin(char)")
        target.send(f"spin 10 {FAST} {SLOW} 2\n")
        target.read_line()
        last = self.finish(running)
        self.assertEqual([(each["function"], each["calls"]) for each in last["functions"]],
                         [("throwing_call(int)", 0), ("timed_call", 10), ("twins::twin(char)", 0)])
        self.assertEqual(target.end().code, 0)

    def test_text(self):
        target = self.start_calls()
        running = self.start_swipr("latency", "--pid", target.pid, "timed_call", "-i", "50ms")
        self.assertRegex(running.read_line(), r"^TIME +FUNCTION +CALLS/S +P50 .* MAX")
        target.send(f"spin 200 {FAST} {SLOW} 4\n")
        target.read_line()
        running.signal(signal.SIGINT)
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        text = finished.out.decode()
        self.assertRegex(text, r"(?m)^\d\d:\d\d:\d\d timed_call ")
        self.assertIn("timed_call (calls_nofp): 200 calls in ", text)
        self.assertIn("█", text)
        self.assertEqual(target.end().code, 0)

    def test_duration_and_count_end_it(self):
        target = self.start_calls()
        finished = self.swipr("latency", "--pid", target.pid, "timed_call", "--duration", "300ms")
        self.assertIn("timed_call (calls_nofp): 0 calls in ", finished.out.decode())
        finished = self.swipr("latency", "--pid", target.pid, "timed_call", "-i", "50ms", "--count", "3", "--json")
        self.assertEqual([json.loads(line)["final"] for line in finished.out.splitlines()], [False] * 3 + [True])
        self.assertEqual(target.end().code, 0)

    def test_the_end_of_the_program_is_the_end(self):
        target = self.start_calls()
        running = self.start_latency(target, "timed_call")
        target.send(f"spin 100 {FAST} {SLOW} 4\n")
        target.read_line()
        target.process.kill()
        target.wait()
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        last = json.loads(finished.out.splitlines()[-1])
        self.assertTrue(last["final"])
        self.assertIn("the process has ended", finished.err)

    def test_a_function_that_is_called_too_often_is_left_alone(self):
        target = self.start_calls()
        running = self.start_latency(target, "hot_call", "--max-overhead", "0.1%")
        target.send("hot 30000\n")
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        self.assertIn("hot_call is no longer traced, because", finished.err)
        function, = json.loads(finished.out.splitlines()[-1])["functions"]
        self.assertIsNotNone(function["detached"])
        self.assertGreater(function["calls"], 0)
        target.process.kill()
        target.wait()

    def test_names_that_mean_none_or_several(self):
        target = self.start_calls()

        def error(*names):
            finished = self.swipr("latency", "--pid", target.pid, *names, expect=1)
            self.assert_one_line_error(finished)
            return finished.err

        self.assertIn("did you mean 'timed_call'?", error("timed_cal"))
        self.assertIn("twins::twin(int)", error("twins::twin"))
        self.assertIn("inlined everywhere", error("always_inlined"))
        self.assertIn("hot_call", error("always_inlined"))
        self.assertIn("it is in another file", error("calls_nofp!clock_gettime"))
        self.assertIn("IFUNC", error("libc.so.6!strlen"))
        self.assertIn("no file 'libnone'", error("libnone!f"))
        self.assertIn("no file is mapped at 0x10", error("0x10"))
        self.assertIn("no code is known of nothing.cc:1", error("nothing.cc:1"))
        self.assertIn("no function is traced", self.swipr("latency", "--pid", target.pid, "calls_nofp!_start", expect=1).err)
        self.assertEqual(target.end().code, 0)

    def test_lines(self):
        target = self.start_calls()
        running = self.start_latency(target, f"times/calls.cc:{self.line_of('// of throwing_call')}")
        last = self.finish(running)
        self.assertEqual(last["functions"][0]["function"], "throwing_call(int)")
        self.assertEqual(target.end().code, 0)

    def line_of(self, mark):
        source = pathlib.Path(__file__).resolve().parents[2] / "targets/times/calls.cc"
        lines = source.read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if mark in line)

    def test_wrong_use(self):
        for arguments, words in (((), "either --pid N or --name"),
                                 (("--pid", 1), "a FUNCTION is required"),
                                 (("--pid", 1, "f", "-i", "1ms"), "between 10ms and 1h"),
                                 (("--pid", 1, "f", "--count", 3), "only with --interval")):
            self.assertIn(words, self.swipr("latency", *arguments, expect=2).err)
        self.assertIn("no process is named", self.swipr("latency", "--name", "no-such-name", "f", expect=1).err)


if __name__ == "__main__":
    unittest.main()
