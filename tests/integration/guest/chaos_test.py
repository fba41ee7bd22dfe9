"""Functions of a program, of libc and of libstdc++, chosen at random, are attached and detached in random order by
several clients, which end as asked, vanish or are killed, while the program checks its own results.
SWIPR_CHAOS_SECONDS: how long (40); SWIPR_SAMPLE_SEED: which functions and when."""

import os
import pathlib
import random
import signal
import time
import unittest

from support import deadline, products, tracing
from support.case import SwiprCase

SECONDS = float(os.environ.get("SWIPR_CHAOS_SECONDS", "40"))
SEED = int(os.environ.get("SWIPR_SAMPLE_SEED", "1"))
SECONDS_OF_A_PROCESS = 10
FUNCTIONS_OF_A_PROCESS = 200  # 256 can be traced in its life
# Functions that the program is known to call all the time.
CALLED = ["malloc", "free", "calloc", "snprintf", "strtoul", "qsort", "usleep", "waitpid", "fork", "sigaltstack", "read",
          "write", "siglongjmp", "pthread_create", "pthread_join", "pthread_exit", "_ZNSsC1Ev", "_Znwm", "_ZdlPv",
          "_ZNSo9_M_insertImEERSoT_", "__cxa_guard_acquire"]


class ChaosTest(SwiprCase):
    def functions_of(self, target, choice):
        """Some of each file, those that are called among them: (address, path)."""
        files = [path for path in tracing.mapped_files(target.pid)
                 if pathlib.Path(path).name.startswith(("chaotic", "libc.so", "libstdc++", "libm.so"))]
        self.assertGreaterEqual(len(files), 3, files)
        found = []
        for path in files:
            symbols = tracing.functions(path, dynamic=not pathlib.Path(path).name.startswith("chaotic"))
            wanted = {address for name, address in symbols.items() if name in CALLED or "swipr5trace" in name}
            others = sorted(set(symbols.values()) - wanted)
            wanted |= set(choice.sample(others, min(FUNCTIONS_OF_A_PROCESS // len(files), len(others))))
            found += [(address, path) for address in wanted]
        choice.shuffle(found)
        return found[:FUNCTIONS_OF_A_PROCESS]

    @staticmethod
    def any_strings(choice):
        """A line of "strings" that takes any arguments for addresses and sizes."""
        line = ["0"] * 7
        for value in choice.sample(range(7), choice.randrange(5)):
            line[value] = choice.choice("12345" if value < 5 else "145")
        return "".join(line)

    def run_client(self, target, functions, choice):
        """Ends as a client may. The answers to its request."""
        wanted = choice.sample(functions, choice.randrange(1, 9))
        sampling = choice.random() < 0.3  # stacks through traced calls
        more = {}
        if choice.random() < 0.4:
            more |= {"slower": choice.choice(["1 ns", "20 us", "p95"]), "frames": choice.choice([0, 8, 256])}
            more["strings"] = "".join(self.any_strings(choice) + "\n" for _ in wanted)
        if choice.random() < 0.2:
            more["threads"] = True
        stream = tracing.Stream(self.socket_of(target.pid), wanted, sampling=sampling, **more)
        if choice.random() < 0.15:
            stream.close()  # in the middle of an attach
            return []
        answers = stream.read_answers(len(wanted))
        time.sleep(choice.random() * 0.1)
        if choice.random() < 0.7:
            self.calls += sum(stream.end().values())
            self.slow_calls += len(stream.slow_calls())
            self.strings += len(stream.strings())
        else:
            stream.close()
        return answers

    def run_command(self, target, choice):
        """`swipr latency`, killed at any moment."""
        running = self.start_swipr("latency", "--pid", target.pid, "chaotic_nofp!swipr::trace::*", "-i", "10ms", "--json",
                                   "--max-overhead", "1000%")
        time.sleep(choice.random() * 0.2)
        running.signal(signal.SIGKILL)
        running.wait()

    def run_process(self, choice, seconds, answers):
        target = self.start_target("chaotic_nofp")
        functions = self.functions_of(target, choice)
        target.send("work\n")
        self.assertEqual(target.read_line(), "works")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if choice.random() < 0.05:
                self.run_command(target, choice)
            answers += self.run_client(target, functions, choice)
        target.send("wrong\n")
        rounds, wrong = map(int, target.read_line().split())
        self.assertGreater(rounds, 0)
        self.assertEqual(wrong, 0)
        deadline.wait_until(lambda: not tracing.changed_code(target.pid), "the code is that of the files")
        finished = target.end()
        self.assertEqual((finished.code, finished.err), (0, ""))
        return rounds

    def test_no_result_changes_and_no_byte_stays(self):
        choice = random.Random(SEED)
        self.calls = self.slow_calls = self.strings = 0
        answers = []
        rounds = 0
        end = time.monotonic() + SECONDS
        while (left := end - time.monotonic()) > 0:
            rounds += self.run_process(choice, min(left, SECONDS_OF_A_PROCESS), answers)
        attached = sum(answer.state == tracing.ATTACHED for answer in answers)
        self.assertGreater(attached, 0)
        self.assertGreater(self.calls, 0)
        self.assertGreater(self.slow_calls, 0)
        self.assertGreater(self.strings, 0)
        reasons = {}
        for answer in answers:
            reasons[answer.text] = reasons.get(answer.text, 0) + 1
        print(f"{rounds} rounds, {attached} attached, {self.calls} calls, {self.slow_calls} slow, {self.strings} strings; {reasons}")


if __name__ == "__main__":
    unittest.main()
