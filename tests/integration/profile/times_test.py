"""Running, waiting for a CPU and blocked: what a recording says of each thread against the thread's own
clocks, in every weight; and what is said where the kernel keeps no run-queue times."""

import json
import os
import pathlib
import subprocess
import unittest

from support import deadline
from support.case import SwiprCase

MILLISECONDS = 2000
WEIGHTS = ("cpu", "runqueue", "blocked")
STATES = ("running", "blocked")


def cpu_ns_of(pid):
    """CPU time of all threads that live."""
    files = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files)


def is_asleep(pid):
    """Whether the main thread waits in clock_nanosleep."""
    return "nanosleep" in pathlib.Path(f"/proc/{pid}/task/{pid}/wchan").read_text()


class Truth:
    """What three_states printed of itself, in ns."""

    def __init__(self, out):
        self.threads = {}
        for line in out.decode().splitlines():
            word, *rest = line.split()
            if word == "thread":
                wall, cpu, runqueue = (int(number) for number in rest[1:])
                self.threads[rest[0]] = {
                    "wall": wall, "cpu": cpu, "runqueue": runqueue, "blocked": wall - cpu - runqueue
                }
            else:
                self.process_cpu_ns = int(rest[0])


class TimeTest(SwiprCase):
    def record_three_states(self, *arguments, wrapper=()):
        path = self.folder / "three.swipr"
        finished = self.swipr(
            "record", "-o", path, *arguments, "--", *wrapper, self.target_path("three_states_nofp"), MILLISECONDS
        )
        return path, Truth(finished.out)

    def times(self, path, weight, *arguments):
        """Per thread, in ns or samples."""
        times = {}
        for stack in self.convert(path, "pprof", "--weight", weight, *arguments):
            times[stack.thread] = times.get(stack.thread, 0) + stack.weight
        return times

    def check(self, *arguments):
        path, truth = self.record_three_states(*arguments)
        wall = self.times(path, "wall")
        by_weight = {weight: self.times(path, weight) for weight in WEIGHTS}
        for thread, clocks in truth.threads.items():
            told = {weight: by_weight[weight].get(thread, 0) for weight in WEIGHTS}
            self.assertAlmostEqual(sum(told.values()) / wall[thread], 1, delta=0.01, msg=thread)
            # Behind its last word the thread waits for the end of the process.
            own_wall = min(wall[thread], clocks["wall"])
            told["blocked"] -= wall[thread] - own_wall
            self.assertGreater(own_wall, 0.8 * clocks["wall"])
            for weight in WEIGHTS:
                with self.subTest(arguments=arguments, thread=thread, weight=weight):
                    share = 100 * told[weight] / own_wall
                    self.assertAlmostEqual(share, 100 * clocks[weight] / clocks["wall"], delta=2)
        samples = self.times(path, "samples")
        of_state = {state: self.times(path, "samples", "--state", state) for state in STATES}
        for thread, others in (("waiter", "running"), ("first", "blocked"), ("second", "blocked")):
            # Behind its last word it is blocked, however long the others need to theirs.
            own_share = min(1, truth.threads[thread]["wall"] / wall[thread])
            allowed = (0.1 if others == "running" else 1 - 0.9 * own_share) * samples[thread]
            self.assertLess(of_state[others].get(thread, 0), allowed, thread)
        self.check_process(path, truth)

    def check_process(self, path, truth):
        report = json.loads(self.swipr("report", "--json", path).out)
        (process,) = report["processes"]
        told = sum(thread["cpu_ns"] for thread in report["threads"]) + process["totals"]["agent_cpu_ns"]
        self.assertAlmostEqual(told / process["totals"]["process_cpu_ns"], 1, delta=0.01)
        # The program's own figure has its start and misses its end.
        self.assertAlmostEqual(told, truth.process_cpu_ns, delta=0.01 * truth.process_cpu_ns + 30e6)

    def test_at_1_kHz(self):
        self.check("--interval", "1ms")

    def test_at_100_Hz(self):
        self.check("--interval", "10ms")

    def test_above_the_budget(self):
        self.check("--interval", "1ms", "--max-overhead", "0.1%")

    def test_above_the_budget_no_running_thread_is_passed_over(self):
        """Two threads share a CPU. By its clock, the one that waits for it looks idle."""
        target = self.start_target("shares_nofp")
        for task in os.listdir(f"/proc/{target.pid}/task"):
            os.sched_setaffinity(int(task), {min(os.sched_getaffinity(0))})
        for mode in ("wall", "cpu"):
            with self.subTest(mode):
                path = self.record(target.pid, "--mode", mode, "--count", 3000, "--interval", "1ms", "--max-overhead", "0.1%")
                longest = max(stack.weight for stack in self.convert(path, "perf", "--weight", "cpu"))
                self.assertLess(longest, 150e6)  # idle threads are looked at once a second

    def test_own_cpu_time_includes_the_start_of_a_recording(self):
        """A program that only waits: all CPU time that the process uses meanwhile is swipr's own."""
        target = self.start("/bin/sleep", "1000", preloaded=True, env={"SWIPR_CACHE": "off"})
        self.wait_for_socket(target.pid)
        deadline.wait_until(lambda: is_asleep(target.pid), "the program to wait")
        before = cpu_ns_of(target.pid)
        path = self.record(target.pid, "--count", "2", "--interval", "10ms")
        used = cpu_ns_of(target.pid) - before
        target.process.kill()
        (process,) = json.loads(self.swipr("report", "--json", path).out)["processes"]
        told = process["totals"]["agent_cpu_ns"]
        self.assertLessEqual(told, used)
        # What is left follows the last total; kept tables would be written then. Without the start it was less than 20 %.
        self.assertGreater(told, 0.6 * used)

    def test_without_schedstat(self):
        """A kernel without it, as far as the main thread's file shows: that is where swipr looks."""
        hide = 'mount --bind /dev/null /proc/$$/task/$$/schedstat && exec "$@"'
        wrapper = ("unshare", "--mount", "sh", "-c", hide, "sh")
        if os.geteuid() != 0 or subprocess.run((*wrapper, "true"), stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("mounting needs root and CAP_SYS_ADMIN")
        path, truth = self.record_three_states("--interval", "2ms", wrapper=wrapper)
        said = self.swipr("report", path).err
        self.assertEqual(said.count("three_states") and said.count("no /proc/PID/schedstat"), 1, said)
        runqueue, wall, cpu, blocked = (self.times(path, weight) for weight in ("runqueue", "wall", "cpu", "blocked"))
        for thread, clocks in truth.threads.items():
            self.assertEqual(runqueue.get(thread, 0), 0)
            self.assertAlmostEqual(cpu[thread], clocks["cpu"], delta=0.02 * clocks["wall"])
            self.assertAlmostEqual((cpu[thread] + blocked[thread]) / wall[thread], 1, delta=0.01)


if __name__ == "__main__":
    unittest.main()
