"""Frames of Python in all modes of a recording, with lost privileges, below filters, and without waking who waits."""

import os
import pathlib
import platform
import re
import unittest

from support import deadline, raw, sampling
from support.interpreters import interpreters
from support.python_truth import PLAIN, TruthCase


@sampling.sampled
class ModesTest(TruthCase):
    TEXT = PLAIN + "\nthread = threading.Thread(target=outer)\nthread.start()\nthread.join()\n"

    def test_libunwind(self):
        for how in ("wait", "burn", "nap"):
            with self.subTest(how=how):
                self.check(self.TEXT, how, env={"SWIPR_UNWINDER": "libunwind"})

    def test_without_signal_free_walks(self):
        """Threads that wait from the beginning to the end have no stacks then."""
        for how in ("burn", "nap"):
            with self.subTest(how=how):
                self.check(self.TEXT, how, env={"SWIPR_SIGNAL_FREE": "off"})

    def test_running_threads_only(self):
        for how in ("burn", "nap"):
            with self.subTest(how=how):
                self.check(self.TEXT, how, arguments=("--mode", "cpu"))

    def test_blocked_threads_only(self):
        for how in ("wait", "nap"):
            with self.subTest(how=how):
                self.check(self.TEXT, how, arguments=("--mode", "offcpu"))

    def test_bursts(self):
        recording = self.check(self.TEXT, "nap", count=2000, interval="1ms")
        (source,) = raw.read(recording.read_bytes()).values()
        self.assertGreater(source.totals["cpu_timer_stacks"], 0)

    def test_without_cpu_timers(self):
        number = {"x86_64": 222, "aarch64": 107}[platform.machine()]  # timer_create
        for how in ("burn", "nap"):
            with self.subTest(how=how):
                recording = self.check(self.TEXT, how, self.target_path("refusing"), number, "/usr/bin/python3")
                (source,) = raw.read(recording.read_bytes()).values()
                self.assertEqual(source.totals["cpu_timer_stacks"], 0)


class PrivilegesTest(TruthCase):
    BEFORE = {
        "after setuid": "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n",
        "not dumpable": "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n",
    }

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_after_privileges_are_gone(self):
        start = "thread = threading.Thread(target=outer)\nthread.start()\nthread.join()\n"
        self.folder.chmod(0o755)
        for name, before in self.BEFORE.items():
            for how in ("burn", "nap"):
                with self.subTest(name, how=how):
                    self.check(PLAIN + before + start, how)
            # After setuid the place of the main thread alone is readable.
            with self.subTest(name, how="wait"):
                self.check(PLAIN + before + "outer()\n", "wait")


class ConfinedTest(TruthCase):
    confined = True

    def test_as_nobody_below_a_filter(self):
        for how in ("wait", "burn", "nap"):
            with self.subTest(how=how):
                self.check(ModesTest.TEXT, how)


WAITS = """
import os, queue, select, socket, sys, threading, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
lock = threading.Lock()
lock.acquire()
ends = os.pipe()
waits = {"sleep": lambda: time.sleep(1000), "select": lambda: select.select([ends[0]], [], [], 1000),
         "accept": server.accept, "queue": queue.Queue().get, "queue with a timeout": lambda: queue.Queue().get(timeout=1000),
         "lock": lock.acquire, "lock with a timeout": lambda: lock.acquire(timeout=1000)}
tids = {}
def wait(name):
    tids[name] = threading.get_native_id()
    started.release()
    waits[name]()
    os._exit(1)  # nothing ends these
started = threading.Semaphore(0)
for name in waits:
    threading.Thread(target=wait, args=(name,), daemon=True).start()
    started.acquire()
print(*tids.values(), flush=True)
sys.stdin.read()
os._exit(0)
"""


class WaitsTest(TruthCase):
    def switches(self, pid, tids):
        found = {}
        for tid in tids:
            status = pathlib.Path(f"/proc/{pid}/task/{tid}/status").read_text()
            found[tid] = (re.search(r"^State:\s+(\S)", status, re.M)[1],
                          int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1]))
        return found

    def test_waiting_threads_are_not_woken(self):
        for path in interpreters():
            with self.subTest(interpreter=path):
                self.check_waits(path)

    def check_waits(self, path):
        program = self.start(path, self.write(WAITS), preloaded=True)
        tids = program.read_line().split()
        self.assertEqual(len(tids), 7)
        self.wait_for_socket(program.pid)
        settled = [self.switches(program.pid, tids)]

        def is_settled():
            settled.append(self.switches(program.pid, tids))
            return settled[-1] == settled[-2] and all(state == "S" for state, _ in settled[-1].values())

        deadline.wait_until(is_settled, "the waits of all threads")
        recording = self.record(program.pid, "--rate", 1000, "--count", 500)
        self.assertEqual(self.switches(program.pid, tids), settled[-1])
        self.finish(program)
        (source,) = raw.read(recording.read_bytes()).values()
        self.assertEqual((source.totals["signals_to_blocked"], source.totals["calls_interrupted"]), (0, 0))
        seen = {chain.tid for chain in self.chains(recording) if any(frame[0] == "wait" for frame in chain.python)}
        self.assertEqual(seen, set(map(int, tids)))


if __name__ == "__main__":
    unittest.main()
