"""Faults during a recording: the program runs on, recorded data converts, and the next client is served."""

import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest

from support import deadline, process_stat, profiles, raw
from support.case import SwiprCase
from support.guest import GuestCase

FAKETIME = pathlib.Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")


class FaultsTest(SwiprCase):
    def test_removed_socket_file_comes_back(self):
        """Cleaners of /tmp remove files, and folders that have become empty."""
        target = self.start_target("shares_nofp")
        place = self.socket_of(target.pid)
        for remove in (place.unlink, lambda: shutil.rmtree(self.sockets)):
            remove()
            self.assertTrue(profiles.has_function(self.convert(self.record(target.pid, "--count", 50)), "percent"))
            self.assertTrue(place.is_socket())
        self.assertEqual(target.end().code, 0)
        self.assertFalse(place.exists())

    def test_killed_client(self):
        target = self.start_target("shares_nofp")
        path = self.folder / "killed.swipr"
        client = self.start_swipr("record", "--pid", target.pid, "--interval", "2ms", "-o", path)
        deadline.wait_until(lambda: path.exists() and raw.has_tick(path.read_bytes()), "a tick")
        client.signal(signal.SIGKILL)
        client.wait()
        finished = self.swipr("convert", path, "--format", "collapsed")
        self.assertRegex(finished.err, "the recording is truncated after")
        self.assertTrue(profiles.has_function(profiles.parse(finished.out, "collapsed"), "percent"))
        self.assertTrue(profiles.has_function(self.convert(self.record(target.pid, "--count", 50)), "percent"))
        self.assertEqual(target.end().code, 0)

    def test_stopped_client_goes_on(self):
        target = self.start_target("shares_nofp")
        client, data = self.start_streaming(target.pid, "--interval", "2ms")
        client.signal(signal.SIGSTOP)
        self.record(target.pid, "--count", 300, "--interval", "1ms")  # another client is not held up
        client.signal(signal.SIGCONT)
        self.assertTrue(profiles.has_function(self.convert(self.finish_streaming(client, data)), "percent"))
        self.assertEqual(target.end().code, 0)

    def test_file_that_may_not_grow_ends_its_recording(self):
        path, log = self.folder / "x.swipr", self.folder / "log"
        settings = {"SWIPR_RECORD": str(path), "SWIPR_RECORD_INTERVAL": "1ms", "SWIPR_LOG": str(log)}
        target = self.start_target("shares_nofp", env=settings)
        place = self.socket_of(target.pid)
        deadline.wait_until(lambda: raw.has_tick(path.read_bytes()), "a tick")
        resource.prlimit(target.pid, resource.RLIMIT_FSIZE, (4096 + path.stat().st_size, resource.RLIM_INFINITY))
        deadline.wait_until(lambda: "the recording ends early" in log.read_text(), "the limit")

        def ticks():
            return self.request(place, "GET", "/v1/info").json()["counters"]["ticks"]

        before = ticks()
        worked = process_stat.cpu_ticks(target.pid) + 50
        deadline.wait_until(lambda: process_stat.cpu_ticks(target.pid) > worked, "the target to work")
        self.assertEqual(ticks(), before)
        self.assertRegex(self.swipr("convert", path, "--format", "collapsed").err, "the recording is truncated after")
        self.assertEqual(target.end().code, 0)

    def test_a_hundred_clients(self):
        target = self.start_target("shares_nofp")
        place = self.socket_of(target.pid)
        answers = []

        def ask():
            try:
                answers.append(self.request(place, "POST", "/v1/record", body='{"numberOfSamples":20,"timeInterval":"1 ms"}'))
            except (OSError, http.client.HTTPException):
                pass  # one too many: the queue is full, or the connection closed before all was sent

        clients = [threading.Thread(target=ask) for _ in range(100)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertLessEqual({answer.status for answer in answers}, {200, 503})
        complete = [raw.read(answer.body) for answer in answers if answer.status == 200]
        self.assertGreater(len(complete), 0)
        for sources in complete:
            (source,) = sources.values()
            self.assertEqual(source.totals["ticks"] + source.totals["ticks_missed"], 20)
        self.assertEqual(self.request(place, "GET", "/v1/info").status, 200)
        self.assertEqual(target.end().code, 0)


class NoMemoryTest(SwiprCase):
    def test_another_recording_that_gets_no_memory_is_refused(self):
        """Memory that it would share with the running recording is already allocated."""
        target = self.start_target("shares_nofp")
        client, data = self.start_streaming(target.pid, "--interval", "10ms")
        status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
        used = 1024 * int(re.search(r"VmData:\s*(\d+) kB", status)[1])
        _, hard = resource.prlimit(target.pid, resource.RLIMIT_DATA)
        resource.prlimit(target.pid, resource.RLIMIT_DATA, (used + (3 << 20), hard))
        answer = self.request(self.socket_of(target.pid), "POST", "/v1/record", body='{"numberOfSamples":5}')
        self.assertEqual((answer.status, answer.text), (503, "no memory for the recording\n"))
        self.assertTrue(profiles.has_function(self.convert(self.finish_streaming(client, data)), "percent"))
        self.assertEqual(target.end().code, 0)

    def test_a_recording_that_gets_no_memory_is_refused(self):
        """As with overcommit off and all memory committed: mappings fail, from several points on."""
        target = self.start_target("shares_nofp")
        status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
        used = 1024 * int(re.search(r"VmData:\s*(\d+) kB", status)[1])
        _, hard = resource.prlimit(target.pid, resource.RLIMIT_DATA)
        for more in (1 << 10, 1 << 20, 8 << 20, 16 << 20):
            resource.prlimit(target.pid, resource.RLIMIT_DATA, (used + more, hard))
            refused = self.swipr("record", "--pid", target.pid, "--count", 5, "-o", self.folder / "x.swipr", expect=None)
            self.assert_one_line_error(refused, "no memory", codes=(1,))
        resource.prlimit(target.pid, resource.RLIMIT_DATA, (hard, hard))
        self.assertTrue(profiles.has_function(self.convert(self.record(target.pid, "--count", 50)), "percent"))
        self.assertEqual(target.end().code, 0)


# A process that answers every request with the bytes of a file: `socket file`.
ANSWERING = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
body = open(sys.argv[2], "rb").read()
client = listener.accept()[0]
client.recv(65536)
client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
client.recv(65536)
"""


class OtherVersionTest(SwiprCase):
    """A `swipr` and a library of different versions."""

    def test_library_that_is_newer(self):
        target = self.start_target("shares_nofp")
        recording = bytearray(self.record(target.pid, "--count", 20).read_bytes())
        self.assertEqual(target.end().code, 0)
        recording[8] += 1
        newer, out = self.folder / "newer.swipr", self.folder / "out.swipr"
        newer.write_bytes(recording)
        process = self.start("sh", "-c", 'exec python3 -c "$0" "$1/$$.sock" "$2"', ANSWERING, self.sockets, newer)
        process.wait_ready()
        finished = self.swipr("record", "--pid", process.pid, "-o", out, expect=None)
        self.assert_one_line_error(finished, f"version {recording[8]} .*this swipr supports {recording[8] - 1}", codes=(1,))
        self.assertEqual(process.end().code, 0)
        self.assert_one_line_error(self.swipr("convert", newer, "--format", "collapsed", expect=None), "update swipr", codes=(1,))

    def test_swipr_that_is_newer(self):
        """Unknown fields of its requests are ignored."""
        target = self.start_target("shares_nofp")
        place = self.socket_of(target.pid)
        body = '{"numberOfSamples":5,"timeInterval":"1 ms","ofALaterVersion":{"a":[1,"x"]},"another":true}'
        answer = self.request(place, "POST", "/v1/record", body=body)
        self.assertEqual(answer.status, 200, answer.text)
        (source,) = raw.read(answer.body).values()
        self.assertEqual(source.totals["ticks"] + source.totals["ticks_missed"], 5)
        self.assertEqual(self.request(place, "GET", "/v9/record").status, 404)
        self.assertEqual(target.end().code, 0)


class NoPlaceTest(GuestCase):
    def test_no_folder_for_the_socket(self):
        """As with a full or read-only /tmp: it can be recorded by `record -- CMD` only, and runs unchanged."""
        settings = {"SWIPR_SOCKET_DIR": "/dev/null/swipr"}
        name = "allocating_none"
        plain = self.start(self.target_path(name)).wait()
        idle = self.start(self.target_path(name), env=settings, preloaded=True).wait()
        recorded, path = self.run_recorded(name, env=settings)
        for finished in (idle, recorded):
            self.assertEqual((finished.code, finished.out), (plain.code, plain.out), repr(finished))
        self.assertEqual(len(raw.read(path.read_bytes())), 4)


def can_mount():
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0


@unittest.skipUnless(can_mount(), "only root mounts, and not in every container")
class FileSystemTest(SwiprCase):
    """Real file systems that are full or read-only."""

    BURN_MS = 2000  # more than 16 KiB of samples on a machine that takes half of the ticks only

    SCRIPT = """
        options=$1 fill=$2 place=$3 kept=$4; shift 4
        mount -t tmpfs -o "$options" none "$place" || exit 99
        [ "$fill" = 0 ] || head -c "$fill" /dev/zero > "$place/fill"
        "$@"; code=$?
        cp -r "$place/." "$kept"
        exit "$code"
    """

    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"
        self.place.mkdir()
        self.log = self.folder / "log"

    def run_on(self, kind, *command, **settings):
        """Returns (the finished command, a copy of its output there). Its other files are elsewhere."""
        options, fill = {"full": ("size=64k", 48 << 10), "read-only": ("ro", 0)}[kind]
        self._count += 1
        kept = self.folder / f"kept-{self._count}"
        kept.mkdir()
        running = self.start("unshare", "--mount", "--propagation", "private", "sh", "-c", self.SCRIPT, "sh", options, fill,
                             self.place, kept, *command, env={"SWIPR_LOG": str(self.log), **settings})
        return running.wait(), kept

    def check_converts(self, path):
        """Checks the part of it that was written, which has no end record."""
        told = self.swipr("convert", path, "--format", "collapsed")
        self.assertRegex(told.err, "the recording is truncated after")
        self.assertTrue(profiles.has_function(profiles.parse(told.out, "collapsed"), "burn_hot"))

    def test_recorder_on_a_full_disk(self):
        path = self.place / "x.swipr"
        ran = self.folder / "ran"
        command = f'"{self.target_path("burn_nofp")}" {self.BURN_MS} 3; echo $? > "{ran}"'
        finished, kept = self.run_on("full", self.program, "record", "--interval", "100us", "-o", path, "--", "sh", "-c", command)
        self.assertEqual(finished.code, 1, repr(finished))
        self.assertRegex(finished.err, "x.swipr.*[Nn]o space")
        deadline.wait_until(lambda: ran.exists() and ran.read_text() == "3\n", "the command's own end")
        self.check_converts(kept / "x.swipr")

    def test_program_that_records_itself_on_a_full_disk(self):
        finished, kept = self.run_on("full", "env", f"LD_PRELOAD={self.preload}", self.target_path("burn_nofp"), self.BURN_MS, 3,
                                     SWIPR_RECORD=str(self.place / "x.swipr"), SWIPR_RECORD_INTERVAL="100us")
        self.assertEqual((finished.code, finished.err), (3, ""))
        self.assertRegex(self.log.read_text(), "the recording ends early: cannot write its file: errno 28")
        self.check_converts(kept / "x.swipr")

    def test_read_only(self):
        path = self.place / "x.swipr"
        finished, kept = self.run_on("read-only", self.program, "record", "-o", path, "--", self.target_path("burn_nofp"), 0)
        self.assert_one_line_error(finished, "x.swipr", "read-only", codes=(1,))
        finished, kept = self.run_on("read-only", "env", f"LD_PRELOAD={self.preload}", self.target_path("burn_nofp"), 0, 3, SWIPR_RECORD=str(path))
        self.assertEqual((finished.code, finished.err), (3, ""))
        self.assertRegex(self.log.read_text(), "cannot write the recording: .*x.swipr: errno 30")
        self.assertEqual(list(kept.iterdir()), [])

    def test_sockets(self):
        for kind in ("full", "read-only"):
            with self.subTest(kind):
                path = self.folder / f"{kind}.swipr"
                finished, _ = self.run_on(kind, self.program, "record", "--interval", "1ms", "-o", path, "--", self.target_path("burn_nofp"), 50, 3,
                                          SWIPR_SOCKET_DIR=str(self.place / "sockets"))
                self.assertEqual(finished.code, 3, repr(finished))
                self.assertTrue(profiles.has_function(self.convert(path), "burn_hot"))


class TimeTest(SwiprCase):
    def test_steps_of_the_wall_clock(self):
        """Each read of the clock, in the program, the library and swipr, is two hours after the previous one."""
        stepping = self.target_path("stepping_clock.so")
        log = self.folder / "log"
        target = self.start_target("shares_nofp", preloaded=False, env={"LD_PRELOAD": f"{stepping}:{self.preload}", "SWIPR_LOG": str(log)})
        self.wait_for_socket(target.pid)
        path = self.folder / "x.swipr"
        self.swipr("record", "--pid", target.pid, "--interval", "1ms", "--duration", "300ms", "-o", path, env={"LD_PRELOAD": str(stepping)})
        (source,) = raw.read(path.read_bytes()).values()
        self.assertTrue(source.ended)
        self.assertEqual(source.totals["ticks"] + source.totals["ticks_missed"], 300)
        self.assertGreater(source.totals["ticks"], 30)  # an hour would have missed all but one
        wall_ns = self.swipr("convert", path, "--format", "collapsed", "--weight", "wall", env={"LD_PRELOAD": str(stepping)}).out
        for line in wall_ns.splitlines():
            self.assertLess(int(line.rpartition(b" ")[2]), 60e9, line)
        self.assertEqual(target.end().code, 0)
        hours = set(re.findall(r"T(\d\d):", log.read_text()))
        self.assertLessEqual(hours, {f"{(time.time() - ago) // 3600 % 24:02.0f}" for ago in (0, 3600)}, "the library reads the program's clock")

    @unittest.skipUnless(FAKETIME.exists(), "package faketime")
    def test_preload_that_fakes_clocks(self):
        """In the program, time passes ten times as fast. The recording uses the clocks of the kernel."""
        env = {"LD_PRELOAD": f"{FAKETIME}:{self.preload}", "FAKETIME": "+0 x10"}
        target = self.start_target("shares_nofp", preloaded=False, env=env)
        self.wait_for_socket(target.pid)
        begin_ns, begin_ticks = time.monotonic_ns(), process_stat.cpu_ticks(target.pid)
        path = self.record(target.pid, "--interval", "5ms", "--count", 200)
        used_ticks, elapsed_ns = process_stat.cpu_ticks(target.pid) - begin_ticks, time.monotonic_ns() - begin_ns
        report = json.loads(self.swipr("report", "--json", path).out)
        (process,) = report["processes"]
        self.assertLess(process["duration_ns"], elapsed_ns)
        cpu = sum(thread["cpu_ns"] for thread in report["threads"]) / 1e9
        self.assertLess(cpu, (used_ticks + 5) / os.sysconf("SC_CLK_TCK"))
        totals = process["totals"]
        self.assertEqual(totals["ticks"] + totals["ticks_missed"], 200)
        self.assertLess(totals["stacks_missing"], totals["samples"])
        self.assertTrue(profiles.has_function(self.convert(path, "collapsed", "--weight", "cpu"), "^seventy_percent$"))
        self.assertEqual(target.end().code, 0)

    def test_starved_control_thread(self):
        """It gets the tenth of a CPU that a busy program leaves."""
        target = self.start_target("shares_nofp")
        self.wait_for_socket(target.pid)
        cpu = {min(os.sched_getaffinity(0))}
        for task in pathlib.Path(f"/proc/{target.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), cpu)
            if (task / "comm").read_text() == "swipr\n":
                os.setpriority(os.PRIO_PROCESS, int(task.name), 10)
        path = self.folder / "x.swipr"
        told = self.swipr("record", "--pid", target.pid, "--count", 500, "--interval", "1ms", "-o", path).err
        (source,) = raw.read(path.read_bytes()).values()
        self.assertTrue(source.ended)
        self.assertGreater(source.totals["ticks_missed"], 0)
        self.assertEqual(source.totals["ticks"] + source.totals["ticks_missed"], 500)
        self.assertRegex(told, f"500 ticks asked, {source.totals['ticks']} delivered, {source.totals['ticks_missed']} missed")
        self.assertEqual(target.end().code, 0)


if __name__ == "__main__":
    unittest.main()
