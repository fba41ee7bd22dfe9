"""swipr agent: slices of all processes in files and stores, and what becomes of their CPU time."""

import collections
import contextlib
import os
import pathlib
import re
import signal
import socket
import sys
import unittest

from support import deadline, sampling
from support.agent import AgentCase

# Becomes the worker when it gets a line, by exec while it is recorded.
CHANGES = """
import os, sys, threading
def change():
    sys.stdin.readline()
    os.execv(sys.executable, [sys.executable, "-u", *sys.argv[1:]])
threading.Thread(target=change, daemon=True).start()
print("ready", flush=True)
while True:
    sum(range(1000))
"""

# Uses a part of a CPU from one line of its input to the next.
DUTY = """
import sys, threading, time
duty, until = float(sys.argv[1]), threading.Event()
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=lambda: (sys.stdin.readline(), until.set()), daemon=True).start()
while not until.is_set():
    begin = time.thread_time()
    while time.thread_time() - begin < 0.05 * duty: pass
    time.sleep(0.05 * (1 - duty))
print("done", flush=True)
sys.stdin.readline()
"""


class AccountsTest(AgentCase):
    def test_cpu_times_of_twenty_processes_are_those_of_the_kernel(self):
        duty = self.folder / "duty.py"
        duty.write_text(DUTY)
        workers = [self.start_worker(duty, share) for share in (0.5, *(0.005 * number for number in range(1, 20)))]
        # No rate is changed to stay below the overhead: all ticks are 91 ms apart.
        agent = self.start_agent("--slice", "1s", "--no-flamegraph", "--max-host-overhead", "50%")
        self.wait_for_slices(1)
        before = [self.cpu_of(worker.pid) for worker in workers]
        for worker in workers:
            worker.send("\n")
        self.wait_for_slices(7)
        for worker in workers:
            worker.send("\n")
        for worker in workers:
            self.assertEqual(worker.read_line(), "done")
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        for worker, cpu in zip(workers, before):
            entries = self.entries_of(worker.pid)
            explained = sum(one["recorded_ns"] + sum(one["unrecorded_ns"].values()) for one in entries) / 1e9
            used = self.cpu_of(worker.pid) - cpu
            # The kernel counts in hundredths of a second, for user and system each.
            self.assertAlmostEqual(explained, used, delta=0.01 * used + 0.04, msg=entries)
        # The first slice in which it runs decides that it is recorded.
        busy = self.entries_of(workers[0].pid)
        missed = collections.Counter()
        for one in busy:
            missed.update(one["unrecorded_ns"])
        small = 0.005 * sum(one["cpu_ns"] for one in busy)
        self.assertLess(sum(missed[why] for why in ("idle", "refused", "lost")), small, missed)
        # It stopped less than a tick before its recording did.
        self.assertLess(missed["ended"], small + 1e9 / 11, missed)


@sampling.sampled
class AgentTest(AgentCase):
    def test_files_of_a_slice_have_links(self):
        self.start_worker()
        self.run_agent("--once", "--slice", "1s")
        for link, suffix in (("last_profile.col", ".col"), ("last_profile.pb.gz", ".pb.gz"),
                             ("last_flamegraph.html", ".html"), ("last_accounts.json", ".json")):
            target = os.readlink(self.out / link)
            self.assertTrue(target.startswith("profile_") and target.endswith(suffix), target)
            self.assertEqual((self.out / target).stat().st_mode & 0o777, 0o600)
        col = (self.out / "last_profile.col").read_text()
        self.assertRegex(col, r";appid: python: \S*shop\.py;.*shop_work")

    def test_rotation_keeps_the_last_slice_and_other_files(self):
        self.start_worker()
        self.out.mkdir()
        (self.out / "notes.col").write_text("mine")
        self.run_agent("--slices", "2", "--slice", "1s", "--rotating-output", "--no-flamegraph")
        self.assertEqual(len(list(self.out.glob("profile_*.col"))), 1)
        self.assertEqual(list(self.out.glob("profile_*.html")), [])
        self.assertTrue((self.out / "notes.col").exists())

    def test_links_are_never_without_their_file(self):
        self.start_worker()
        self.run_agent("--once", "--slice", "1s")
        agent = self.start_agent("--slices", "3", "--slice", "1s", "--rotating-output", "--no-flamegraph")
        looks = 0
        while agent.process.poll() is None or looks < 10000:
            (self.out / "last_profile.col").open().close()  # throws if the file is gone
            looks += 1
        self.assertEqual(agent.wait().code, 0)
        self.assertGreater(looks, 10000)
        self.assertEqual([path.name for path in self.out.iterdir() if not path.exists()], [])  # last_flamegraph.html
        self.assertEqual(len(list(self.out.glob("profile_*"))), 3)

    def test_slices_follow_each_other_without_a_gap(self):
        self.start_worker()
        agent = self.start_agent("--slice", "1s", "--no-flamegraph")
        self.wait_for_slices(4)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        slices = self.accounts()
        for one, other in zip(slices, slices[1:]):
            self.assertAlmostEqual(one["begin_ns"] + one["duration_ns"], other["begin_ns"], delta=1e6)  # clocks are adjusted

    def test_cpu_time_of_all_processes_is_accounted_for(self):
        pids = [self.start_worker().pid for _ in range(2)]
        self.run_agent("--slices", "3", "--slice", "1s")
        slices = self.accounts()
        self.assertIn(len(slices), (2, 3))  # one goes on while the export of the one before takes longer than it
        for pid in pids:
            entries = self.entries_of(pid)
            kernel = sum(one["cpu_ns"] for one in entries)
            recorded = sum(one["recorded_ns"] for one in entries)
            unrecorded = sum(sum(one["unrecorded_ns"].values()) for one in entries)
            self.assertGreater(recorded, 0)
            self.assertEqual(recorded + unrecorded, kernel)
            self.assertEqual(entries[0]["service"], "shop")

    def test_above_the_limit_of_overhead_rates_are_halved_and_all_time_is_accounted_for(self):
        pids = [self.start_worker().pid for _ in range(2)]
        metrics = self.folder / "metrics"
        agent = self.start_agent("--slice", "1s", "--rate", "200", "--max-host-overhead", "0.1%", "--metrics-file", metrics)
        deadline.wait_until(lambda: metrics.exists() and "swipr_agent_targets_slowed 2\n" in metrics.read_text(), "lower rates")
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        for pid in pids:
            entries = self.entries_of(pid)
            explained = sum(one["recorded_ns"] + sum(one["unrecorded_ns"].values()) for one in entries)
            self.assertEqual(explained, sum(one["cpu_ns"] for one in entries))
            self.assertGreater(sum(one["recorded_ns"] for one in entries[-2:]), 0)  # the last one may be short

    def test_an_idle_process_is_not_recorded(self):
        idle = self.start("cat", preloaded=True)
        self.wait_for_socket(idle.pid)
        busy = self.start_worker()
        metrics = self.folder / "metrics"
        self.run_agent("--slices", "4", "--slice", "1s", "--metrics-file", metrics)
        ended, extended = re.findall(r"^swipr_agent_slices_(?:extended_)?total (\d+)$", metrics.read_text(), re.M)
        self.assertEqual(int(ended) + int(extended), 4)  # a busy machine extends a slice
        # The first slice has begun its recording, the second one has ended it.
        self.assertEqual(sum(one["recorded_ns"] for one in self.entries_of(idle.pid)), 0)
        self.assertGreater(sum(one["recorded_ns"] for one in self.entries_of(busy.pid)), 0)

    def test_processes_that_begin_and_end_within_slices_are_found(self):
        self.start_worker()
        agent = self.start_agent("--slice", "1s")
        self.wait_for_slices(1)
        later = self.start_worker()
        deadline.wait_until(lambda: any(one["recorded_ns"] for one in self.entries_of(later.pid)), "the new process")
        os.kill(later.pid, signal.SIGKILL)
        deadline.wait_until(lambda: any(one.get("ended") for one in self.entries_of(later.pid)), "its end")
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())

    def test_a_stopped_process_takes_nothing_from_the_others(self):
        stopped, running = self.start_worker(), self.start_worker()
        agent = self.start_agent("--slice", "1s")
        self.wait_for_slices(1)
        os.kill(stopped.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, stopped.pid, signal.SIGCONT)
        self.wait_for_slices(len(self.accounts()) + 3)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        last = self.accounts()[-2]["processes"]
        self.assertIn(running.pid, [one["pid"] for one in last])
        kernel = sum(one["cpu_ns"] for one in self.entries_of(running.pid))
        recorded = sum(one["recorded_ns"] for one in self.entries_of(running.pid))
        self.assertGreater(recorded, kernel / 2)
        os.kill(stopped.pid, signal.SIGCONT)

    def test_processes_that_are_killed_or_replaced_take_nothing_from_the_others(self):
        changes = self.folder / "changes.py"
        changes.write_text(CHANGES)
        steady, killed, changed = self.start_worker(), self.start_worker(), self.start_worker(changes, self.script)
        agent = self.start_agent("--slice", "1s", "--no-flamegraph")
        self.wait_for_slices(1)
        os.kill(killed.pid, signal.SIGKILL)
        changed.send("\n")
        deadline.wait_until(lambda: any(one.get("ended") for one in self.entries_of(killed.pid)), "the end of one")
        deadline.wait_until(lambda: any(one["recorded_ns"] and one["application"].endswith("shop.py")
                                        for one in self.entries_of(changed.pid)), "the new program of another")
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        entries = self.entries_of(steady.pid)
        self.assertEqual(len(entries), len(self.accounts()))
        self.assertEqual(sum(one["unrecorded_ns"].get("lost", 0) for one in entries), 0)
        later = entries[1:]  # in the first slice the recording begins
        self.assertGreater(sum(one["recorded_ns"] for one in later), 0.95 * sum(one["cpu_ns"] for one in later))

    def test_the_token_is_in_no_log_and_no_argument(self):
        store = self.start_store()
        store.fault(path="/push", status=401, times=1)
        token, log = self.folder / "token", self.folder / "log"
        token.write_text("hunter-and-gatherer\n")
        self.start_worker()
        agent = self.start_agent("--slice", "1s", "--push", f"pyroscope+{store.url}", "--token-file", token, "--log-file", log)
        self.wait_for_slices(2)
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                self.assertNotIn(b"hunter-and-gatherer", path.read_bytes(), path)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        self.assertIn("refuses a profile: HTTP status 401", log.read_text())
        self.assertNotIn("hunter-and-gatherer", log.read_text() + agent.err())

    def test_sigterm_finishes_the_slice(self):
        worker = self.start_worker()
        pid_file = self.folder / "pid"
        agent = self.start_agent("--slice", "1h", "--pid-file", pid_file)
        deadline.wait_until(lambda: "records 1" in agent.err(), "the recording")
        self.assertEqual(int(pid_file.read_text()), agent.pid)
        deadline.wait_until(lambda: self.cpu_of(worker.pid) > 0.5, "CPU time")
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        self.assertEqual(len(self.accounts()), 1)
        self.assertGreater(self.entries_of(worker.pid)[0]["recorded_ns"], 0)
        self.assertFalse(pid_file.exists())

    def test_the_service_manager_is_told_of_the_beginning_and_the_end(self):
        self.start_worker()
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(self.folder / "notify"))
        self.run_agent("--slices", "2", "--slice", "2s", env={"NOTIFY_SOCKET": str(self.folder / "notify")})
        manager.setblocking(False)
        told = []
        try:
            while True:
                told.append(manager.recv(100).decode())
        except BlockingIOError:
            pass
        self.assertEqual((told[0], told[-1], set(told[1:-1])), ("READY=1", "STOPPING=1", {"WATCHDOG=1"}))

    def test_the_agent_ends_with_the_last_of_its_processes(self):
        worker = self.start_worker()
        agent = self.start_agent("--slice", "1h", "--pids", worker.pid)
        deadline.wait_until(lambda: "records 1" in agent.err(), "the recording")
        os.kill(worker.pid, signal.SIGKILL)
        self.assertEqual(agent.wait().code, 0, agent.err())

    def test_sighup_starts_anew_with_the_same_process_id(self):
        self.start_worker()
        agent = self.start_agent("--slice", "1h")
        deadline.wait_until(lambda: "records 1" in agent.err(), "the recording")
        agent.signal(signal.SIGHUP)
        deadline.wait_until(lambda: agent.err().count("records 1") == 2, "the new beginning")
        self.wait_for_slices(1)
        agent.signal(signal.SIGTERM)
        self.assertEqual(agent.wait().code, 0, agent.err())
        self.assertEqual(len(self.accounts()), 2)

    def test_wrong_options_are_one_line(self):
        self.assert_one_line_error(self.swipr("agent", expect=None), "--output-dir dir or --push url", codes=(2,))
        self.assert_one_line_error(self.run_agent("--push", "http://x", expect=None), "url", codes=(1,))


if __name__ == "__main__":
    unittest.main()
