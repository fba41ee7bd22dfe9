"""Without a recording, or with SWIPR_DISABLE, the library has no visible effect on the program."""

import json
import os
import pathlib
import resource
import signal
import socket
import unittest

from support import deadline, process_stat
from support.case import SwiprCase


def threads_named(pid, name):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            found.append(task)
    return found


def voluntary_switches(task):
    for line in (task / "status").read_text().splitlines():
        if line.startswith("voluntary_ctxt_switches"):
            return int(line.split()[1])
    raise AssertionError("no voluntary_ctxt_switches")


def descriptors(pid):
    return {
        name: os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")
    }


def children(pid):
    """Children that are not found by a wait of the program."""
    lists = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in lists for child in path.read_text().split()]


class AsleepCase(SwiprCase):
    def check_control_thread_sleeps(self):
        target = self.start_target("shares_nofp")
        self.wait_until_at_rest(target)

    def wait_until_at_rest(self, target):
        """It may wake up while something starts or ends; afterwards nothing wakes it."""
        (task,) = threads_named(target.pid, "swipr")

        def sleeps_on():
            before = voluntary_switches(task)
            worked = process_stat.cpu_ticks(target.pid) + 50  # half a second of CPU time of the target
            deadline.wait_until(lambda: process_stat.cpu_ticks(target.pid) > worked, "the target to work")
            return voluntary_switches(task) == before

        deadline.wait_until(sleeps_on, "a control thread at rest")

    def check_descriptors(self):
        with_swipr = self.start_target("blocked_nofp")
        without = self.start_target("blocked_nofp", preloaded=False)

        def kinds(pid):
            return sorted((number, target.split(":")[0]) for number, target in descriptors(pid).items())

        mine = {n: t for n, t in kinds(with_swipr.pid)}
        plain = {n: t for n, t in kinds(without.pid)}
        for both in (mine, plain):
            both["2"] = "stderr"
        self.assertEqual(mine, plain)
        self.record(with_swipr.pid, "--count", 5, "--interval", "1ms")
        after = {n: t for n, t in kinds(with_swipr.pid)}
        after["2"] = "stderr"
        self.assertEqual(after, plain)


class AsleepTest(AsleepCase):
    def test_control_thread_does_not_wake_up(self):
        self.check_control_thread_sleeps()

    def test_program_has_no_descriptor_of_swipr(self):
        self.check_descriptors()

    def test_control_thread_sleeps_again_after_a_recording(self):
        target = self.start_target("shares_nofp")
        self.record(target.pid, "--count", 5, "--interval", "1ms")
        self.wait_until_at_rest(target)

    def test_list_wakes_nobody(self):
        target = self.start_target("blocked_nofp")
        elsewhere = self.start_target("blocked_nofp", env={"SWIPR_SERVER_URL": f"unix://{self.folder}/x.sock"})
        deadline.wait_until((self.folder / "x.sock").exists, "a socket of another name")
        self.wait_for_socket(elsewhere.pid)
        tasks = [task for pid in (target.pid, elsewhere.pid) for task in threads_named(pid, "swipr")]

        def sleep():
            return all(process_stat.state(task) == "S" for task in tasks)

        deadline.wait_until(sleep, "both control threads to sleep")
        before = [voluntary_switches(task) for task in tasks]
        target.signal(signal.SIGSTOP)  # who does not answer is listed, too
        try:
            entries = json.loads(self.swipr("list", "--json").out)
        finally:
            target.signal(signal.SIGCONT)
        listed = {entry["socket"]: entry for entry in entries}
        for path, pid in (
            (self.socket_of(target.pid), target.pid),
            (self.socket_of(elsewhere.pid), elsewhere.pid),
            (self.folder / "x.sock", elsewhere.pid),
        ):
            entry = listed[str(path)]
            self.assertEqual(entry["pid"], pid)
            self.assertEqual(entry["command"], "blocked_nofp")
            self.assertEqual(entry["threads"], len(os.listdir(f"/proc/{pid}/task")))
        self.assertEqual([voluntary_switches(task) for task in tasks[1:]], before[1:])

    def limited(self, files):
        """A target that may open this many files."""
        script = f'ulimit -n {files}; exec "$0"'
        env = ("/usr/bin/env", f"LD_PRELOAD={self.preload}", "sh", "-c", script)
        target = self.start(*env, self.target_path("shares_nofp"))
        target.wait_ready()
        return target

    def check_rest(self, pid):
        (task,) = threads_named(pid, "swipr")
        deadline.wait_until(
            lambda: process_stat.state(task) == "S", "the control thread to sleep"
        )
        before = voluntary_switches(task)
        worked = process_stat.cpu_ticks(pid) + 20
        deadline.wait_until(lambda: process_stat.cpu_ticks(pid) > worked, "the target to work")
        self.assertEqual(voluntary_switches(task), before)

    def test_control_thread_sleeps_where_few_files_may_be_open(self):
        for files in (5, 9, 16, 66):  # 67 is what poll would take all its entries for
            with self.subTest(files=files):
                target = self.limited(files)
                self.check_rest(target.pid)
                if files >= 16:
                    self.convert(self.record(target.pid, "--count", 20, "--interval", "2ms"))
                else:
                    finished = self.swipr("record", "--pid", target.pid, "-o", self.folder / "x.swipr", expect=None)
                    self.assert_one_line_error(finished, rf"only {files} files .*ulimit -n|limit of open files: .*ulimit -n", codes=(1,))
                self.assertEqual(target.end().code, 0)

    def test_control_thread_sleeps_while_a_client_waits_for_a_descriptor(self):
        target = self.start_target("shares_nofp")
        (task,) = threads_named(target.pid, "swipr")
        limits = resource.prlimit(target.pid, resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(deadline.DEADLINE_SECONDS)
            client.connect(str(self.socket_of(target.pid)))
            client.sendall(b"GET /v1/info HTTP/1.1\r\nHost: x\r\n\r\n")
            before, worked = process_stat.cpu_ticks(task), process_stat.cpu_ticks(target.pid) + 100  # of the whole process
            deadline.wait_until(lambda: process_stat.cpu_ticks(target.pid) > worked, "the target to work")
            self.assertLess(process_stat.cpu_ticks(task) - before, 10)
            resource.prlimit(target.pid, resource.RLIMIT_NOFILE, limits)
            self.assertRegex(client.recv(1 << 16), rb"^HTTP/1\.1 200 ")
        self.assertEqual(target.end().code, 0)

    def test_exactly_one_thread_is_added_and_it_blocks_all_signals(self):
        plain = self.start_target("blocked_nofp", preloaded=False)
        target = self.start_target("blocked_nofp")
        self.assertEqual(
            len(os.listdir(f"/proc/{target.pid}/task")), len(os.listdir(f"/proc/{plain.pid}/task")) + 1
        )
        (task,) = threads_named(target.pid, "swipr")
        blocked = next(
            int(line.split()[1], 16)
            for line in (task / "status").read_text().splitlines()
            if line.startswith("SigBlk")
        )
        # All but SIGKILL, SIGSTOP and libc's own 32 and 33.
        every = (1 << 64) - 1
        for number in (9, 19, 32, 33):
            every &= ~(1 << (number - 1))
        self.assertEqual(blocked & every, every)

    def test_program_has_no_signal_handler_of_swipr_at_rest(self):
        def caught(pid):
            lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
            return next(line for line in lines if line.startswith("SigCgt"))

        plain = self.start_target("blocked_nofp", preloaded=False)
        target = self.start_target("blocked_nofp")
        self.assertEqual(caught(target.pid), caught(plain.pid))
        self.record(target.pid, "--count", 5, "--interval", "1ms")
        self.assertEqual(caught(target.pid), caught(plain.pid))

    def test_swipr_disable(self):
        target = self.start_target("blocked_nofp", env={"SWIPR_DISABLE": "1"})
        self.assertEqual(threads_named(target.pid, "swipr"), [])
        self.assertEqual(list(self.sockets.iterdir()), [])
        self.assertEqual(self.listed(), [])

    def test_swipr_only(self):
        asleep = self.start_target("blocked_nofp", env={"SWIPR_ONLY": "redis*,shares_*"})
        awake = self.start_target("shares_nofp", env={"SWIPR_ONLY": "redis*,shares_*"})
        self.wait_for_socket(awake.pid)
        self.assertEqual(threads_named(asleep.pid, "swipr"), [])
        self.assertEqual([entry["pid"] for entry in self.listed()], [awake.pid])

    def test_socket_is_private(self):
        target = self.start_target("blocked_nofp")
        self.assertEqual(self.socket_of(target.pid).stat().st_mode & 0o777, 0o600)

    def test_waiting_program_sees_no_foreign_child(self):
        target = self.start_target("waiter_nofp")
        for number in range(3):
            answer = self.request(
                self.socket_of(target.pid),
                "POST",
                "/sample",
                body=json.dumps({"numberOfSamples": 60, "timeInterval": "2 ms"}),
            )
            self.assertEqual(answer.status, 200, answer.text)
            self.assertIn("waiter_hot", answer.text, f"answer {number}")
        finished = target.end()
        self.assertEqual(finished.out.decode().splitlines(), ["no strangers"])
        self.assertEqual(finished.code, 0)

    def test_who_writes_an_answer_has_nothing_of_the_program(self):
        """It inherits no files (such as the listening socket) and no signals of the terminal and the process group."""
        target = self.start_target("blocked_nofp")
        body = json.dumps({"numberOfSamples": 1_000_000, "timeInterval": "10 ms"}).encode()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(self.socket_of(target.pid)))
            client.sendall(b"POST /sample HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            (between,) = deadline.wait_until(lambda: children(target.pid), "a process for the answer")
            deadline.wait_until(lambda: {"0", "1"} <= set(os.listdir(f"/proc/{between}/fd")) <= {"0", "1", "2"}, "its own files only")
            self.assertEqual(os.getpgid(between), between, "a kill(0, …) of the program's reaches it")
            (helper,) = deadline.wait_until(lambda: children(between), "the swipr program")
            deadline.wait_until(lambda: process_stat.session(helper) == helper, "a session of its own")
            self.assertNotEqual(process_stat.session(target.pid), helper)
        deadline.wait_until(lambda: not children(target.pid), "an end that leaves nothing behind")


if __name__ == "__main__":
    unittest.main()
