"""swipr slower: each slow call of a running program, as the program itself measured it; and calls by thread and by the
line that makes them, which `swipr latency` has, too."""

import json
import os
import pathlib
import signal
import unittest

from support import deadline, tracing
from support.case import SwiprCase

COUNT, FAST, SLOW, EVERY, THREADS = 40, 50_000, 60_000_000, 10, 4
THRESHOLD = 30_000_000
SOURCE = "times/calls.cc"


class SlowerTest(SwiprCase):
    def start_calls(self):
        return self.start_target("calls_nofp")

    def start_tracing(self, command, target, *arguments):
        """Has begun to measure: code has changed, and is not writable any more."""
        running = self.start_swipr(command, "--pid", target.pid, *arguments)

        def is_traced():
            changes = tracing.changed_code(target.pid)
            return changes and all(change[1] != "is writable" for change in changes)

        deadline.wait_until(is_traced, "no function is traced")
        return running

    def finish(self, running):
        running.signal(signal.SIGINT)
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        return [json.loads(line) for line in finished.out.splitlines()]

    def many(self, target):
        """id: (tid, duration) of all calls, as the program measured it around them."""
        target.send(f"many {COUNT} {FAST} {SLOW} {EVERY}\n")
        calls = {}
        for text in target.read_line().split():
            call, tid, duration = map(int, text.split(":"))
            calls[call] = (tid, duration)
        return calls

    def line_of(self, mark):
        source = (pathlib.Path(__file__).resolve().parents[2] / "targets" / SOURCE).read_text()
        return next(number for number, line in enumerate(source.splitlines(), 1) if line.endswith(mark))

    def check_call(self, call, calls):
        number = int(call["arguments"][0], 16)
        tid, outside = calls[number]
        self.assertEqual(call["tid"], tid)
        self.assertEqual(call["thread"], f"caller-{number // 1000 - 1}")
        self.assertEqual(int(call["result"], 16), 3 * number)
        self.assertFalse(call["exception"])
        self.assertGreater(call["duration_ns"], THRESHOLD)
        self.assertLessEqual(call["duration_ns"], 1.001 * outside)
        names = [frame["function"] for frame in call["callers"]]
        self.assertTrue(names[0].startswith("from_left(" if number % 2 == 0 else "from_right("), names)
        self.assertTrue(call["callers_complete"], names)
        return number

    def test_every_slow_call_is_listed_with_its_truth(self):
        target = self.start_calls()
        running = self.start_tracing("slower", target, "labelled_call", "30ms", "--json", "--args", "2", "--stack")
        calls = self.many(target)
        *listed, last = self.finish(running)
        numbers = [self.check_call(call, calls) for call in listed]
        self.assertEqual(len(numbers), len(set(numbers)))
        slow = {number for number in calls if number % 1000 % EVERY == EVERY - 1}
        self.assertEqual(len(slow), THREADS * COUNT // EVERY)
        self.assertLessEqual(slow, set(numbers), last)
        # Others lost their CPU for as long.
        for number in set(numbers) - slow:
            self.assertGreater(calls[number][1], THRESHOLD)
        for call in listed:
            if int(call["arguments"][0], 16) in slow:
                self.assertEqual(int(call["arguments"][1], 16), SLOW)
        function, = last["functions"]
        self.assertEqual(function["calls"], THREADS * COUNT)
        self.assertEqual(function["slow"], len(numbers))
        self.assertEqual(function["slow_ns"], sum(call["duration_ns"] for call in listed))
        self.assertEqual(function["not_listed"], 0)
        self.assertEqual(target.end().code, 0)

    def test_a_process_that_does_not_end_the_measurement(self):
        target = self.start_calls()
        running = self.start_tracing("slower", target, "labelled_call", "30ms", "--json")
        os.kill(target.pid, signal.SIGSTOP)
        running.signal(signal.SIGINT)
        finished = running.end()
        self.assertEqual(finished.code, 1, repr(finished))
        self.assertIn("the process does not end the measurement: its last calls are missing", finished.err)
        os.kill(target.pid, signal.SIGCONT)

    def test_quantiles_become_thresholds(self):
        target = self.start_calls()
        running = self.start_tracing("slower", target, "timed_call", "p95", "--json")
        for _ in range(4):  # the threshold is known after the first 100 calls, and 40 ms
            target.send("spin 200 100000 2000000 10\n")
            target.read_line()
        # Above the threshold even if preempted calls have raised it.
        target.send("spin 40 100000 40000000 10\n")
        target.read_line()
        *listed, last = self.finish(running)
        function, = last["functions"]
        self.assertEqual(function["threshold"], "p95")
        self.assertGreater(function["threshold_ns"], 1_900_000)
        self.assertGreater(function["slow"], 0)
        self.assertEqual(len(listed), function["slow"])
        self.assertLess(function["slow"], 400)
        self.assertEqual(target.end().code, 0)

    def test_exceptions(self):
        target = self.start_calls()
        running = self.start_tracing("slower", target, "throwing_call", "1ns", "--json", "--args", "1",
                                     "--max-overhead", "1000%")
        target.send("throw 100\n")
        self.assertEqual(target.read_line(), "50")
        *listed, last = self.finish(running)
        self.assertEqual(last["functions"][0]["slow"], len(listed))
        self.assertEqual(sum(call["exception"] for call in listed), 50)  # others may take less than 1 ns
        for call in listed:
            number = int(call["arguments"][0], 16)
            self.assertEqual(call["exception"], number % 2 != 0)
            self.assertEqual(call["result"] is None, number % 2 != 0)
            self.assertIn("throw_often", call["callers"][0]["function"])
        self.assertEqual(target.end().code, 0)

    def test_floods_are_counted(self):
        target = self.start_calls()
        running = self.start_tracing("slower", target, "hot_call", "1ns", "--json", "--max-overhead", "1000%")
        target.send("hot 300\n")
        made = int(target.read_line())
        *listed, last = self.finish(running)
        function, = last["functions"]
        self.assertEqual(function["calls"], made)
        self.assertEqual(function["slow"], len(listed) + function["not_listed"])
        self.assertGreater(function["not_listed"], 0)
        self.assertGreaterEqual(len(listed), 512)
        self.assertEqual(target.end().code, 0)

    def test_count_and_text(self):
        target = self.start_calls()
        running = self.start_tracing("slower", target, "timed_call", "1ns", "--count", "5", "--stack")
        target.send("spin 50 100000 100000 2\n")
        target.read_line()
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        text = finished.out.decode()
        self.assertRegex(text, r"^TIME +THREAD +DURATION +CALL\n")
        self.assertEqual(text.count(" timed_call(duration_ns=100000)\n"), 5)
        self.assertIn("main calls.cc:", text)
        self.assertRegex(text, r"timed_call: \d+ calls?, \d+ slower than 1 ns")
        self.assertEqual(target.end().code, 0)

    def test_calls_of_one_line(self):
        target = self.start_calls()
        line = self.line_of("// of from_left")
        running = self.start_tracing("latency", target, "labelled_call", "--at", f"{SOURCE}:{line}", "--threads", "--json")
        calls = self.many(target)
        last = self.finish(running)[-1]
        function, = last["functions"]
        self.assertEqual(function["calls"], len(calls) // 2)
        self.assertEqual(function["elsewhere"], len(calls) // 2)
        threads = {thread["tid"]: thread for thread in function["threads"]}
        self.assertEqual(set(threads), {tid for tid, _ in calls.values()})
        for number, (tid, _) in calls.items():
            self.assertEqual(threads[tid]["calls"], COUNT // 2)
            self.assertEqual(threads[tid]["thread"], f"caller-{number // 1000 - 1}")
        self.assertEqual(sum(thread["sum_ns"] for thread in threads.values()), function["sum_ns"])
        self.assertEqual(target.end().code, 0)

    def test_slow_calls_of_one_line(self):
        target = self.start_calls()
        line = self.line_of("// of from_right")
        running = self.start_tracing("slower", target, "labelled_call", "30ms", "--json", "--at", f"calls.cc:{line}")
        calls = self.many(target)
        *listed, last = self.finish(running)
        self.assertTrue(listed)
        for call in listed:
            self.assertEqual(int(call["arguments"][0], 16) % 2, 1)
        self.assertEqual(last["functions"][0]["elsewhere"], len(calls) // 2)
        self.assertEqual(target.end().code, 0)

    def test_what_cannot_be_meant(self):
        target = self.start_calls()

        def error(*arguments):
            finished = self.swipr("slower", "--pid", target.pid, *arguments, expect=1)
            self.assert_one_line_error(finished)
            return finished.err

        line = self.line_of("// of throwing_call") - 1
        self.assertIn("no call instruction is known at", error("labelled_call", "1ms", "--at", f"calls.cc:{line}"))
        self.assertIn("--at needs FILE:LINE", error("labelled_call", "1ms", "--at", "labelled_call"))
        self.assertEqual(target.end().code, 0)

    def test_one_client_at_a_time(self):
        target = self.start_calls()
        running = self.start_tracing("slower", target, "labelled_call", "1s", "--json")
        finished = self.swipr("slower", "--pid", target.pid, "timed_call", "1s", "-d", "1s", expect=1)
        self.assertIn("another client follows slow calls", finished.err)
        other = self.swipr("latency", "--pid", target.pid, "labelled_call", "-d", "100ms")
        self.assertIn("labelled_call", other.out.decode())
        self.finish(running)
        self.assertEqual(target.end().code, 0)


if __name__ == "__main__":
    unittest.main()
