"""Recording a program whose memory cgroup is nearly full does not trigger the OOM killer."""

import subprocess
import sys
import unittest

from support import deadline, profiles, raw
from support.case import SwiprCase
from support.memory_cgroup import MemoryCgroup

MIB = 1 << 20

# 100 threads, half of them at work in turns, and what these modules bring along.
MANY_THREADS = """
import ctypes, decimal, lzma, sqlite3, ssl, sys, threading, time
def work(pause):
    while True:
        sum(range(1000))
        time.sleep(pause)
for index in range(100):
    threading.Thread(target=work, args=(3600 if index % 2 else 0.01,), daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


def why_none():
    """Why no memory cgroup can be made here; empty: one can."""
    try:
        MemoryCgroup("swipr-try").remove()
    except OSError as error:
        return f"no memory cgroup can be made here: {error}"
    return ""


WHY_NONE = why_none()


@unittest.skipIf(WHY_NONE, WHY_NONE)
class MemoryCgroupTest(SwiprCase):
    def setUp(self):
        self.cgroup = MemoryCgroup(f"swipr-{self._testMethodName}")
        self.addCleanup(self.remove_cgroup)  # the last one: behind the end of all programs
        super().setUp()

    def remove_cgroup(self):
        def is_removed():
            try:
                self.cgroup.remove()
            except OSError:
                return False
            return True

        deadline.wait_until(is_removed, "the end of the cgroup's processes")

    def start_inside(self, *command, env=None):
        running = self.start(*self.cgroup.command(*command), env=env, preloaded=True)
        running.wait_ready()
        self.wait_for_socket(running.pid)
        return running

    def leave(self, room):
        self.cgroup.set_limit(self.cgroup.usage() + room)

    def assert_recordable(self, pid):
        self.assertTrue(profiles.has_function(self.convert(self.record(pid, "--count", 50)), "percent"))

    def test_recordings_are_refused_where_too_little_is_left(self):
        target = self.start_inside(self.target_path("shares_nofp"))
        for room in (256 << 10, 512 << 10, MIB, 2 * MIB, 3 * MIB):
            self.leave(room)
            refused = self.swipr("record", "--pid", target.pid, "--count", 5, "-o", self.folder / "x.swipr", expect=None)
            self.assert_one_line_error(refused, "memory cgroup", codes=(1,))
            self.assertRegex(self.swipr("doctor", "--pid", target.pid, expect=1).out, rb"FAIL +memory .*leaves too little")
            self.cgroup.set_limit(1 << 30)
        self.swipr("doctor", "--pid", target.pid)
        self.assert_recordable(target.pid)
        self.assertEqual(target.end().code, 0)

    def test_whatever_is_left_the_program_goes_on(self):
        """What the checks allow has to be enough, for a program with more threads and libraries as well."""
        target = self.start_inside(sys.executable, "-c", MANY_THREADS)
        recorded = 0
        for room in range(MIB // 2, 12 * MIB, MIB // 2):
            self.leave(room)
            path = self.folder / "x.swipr"
            done = self.swipr("record", "--pid", target.pid, "--count", 200, "--interval", "1ms", "-o", path, expect=None)
            recorded += done.code == 0
            self.assertIsNone(target.process.poll(), f"ended with {room} bytes left")
            self.cgroup.set_limit(1 << 30)
        self.assertGreater(recorded, 5)
        self.assertEqual(target.end().code, 0)

    def test_page_cache_is_room(self):
        """Files that were read fill every container up to its limit."""
        target = self.start_inside(self.target_path("shares_nofp"))
        self.leave(32 * MIB)
        file = self.folder / "read"
        subprocess.run(self.cgroup.command("dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=256", "status=none"), check=True)
        used = self.cgroup.usage()
        limit = int((self.cgroup.folder / self.cgroup.limit_file).read_text())
        self.assertLess(limit - used, 3 * MIB, "the cgroup is not full")
        self.assert_recordable(target.pid)
        self.assertEqual(target.end().code, 0)

    def test_a_recording_ends_when_memory_gets_short(self):
        target = self.start_inside(self.target_path("shares_nofp"))
        self.leave(16 * MIB)
        client, data = self.start_streaming(target.pid, "--interval", "2ms")
        self.leave(MIB)
        rest, _ = client.process.communicate(timeout=deadline.DEADLINE_SECONDS)
        self.assertEqual(client.process.returncode, 1)
        self.assertRegex(client.err(), "ended early: the program's memory cgroup has less than 2 MiB left")
        path = self.folder / "short.swipr"
        path.write_bytes(data + rest)
        converted = self.swipr("convert", path, "--format", "collapsed")
        self.assertRegex(converted.err, "memory cgroup has less than 2 MiB left")
        self.assertTrue(profiles.has_function(profiles.parse(converted.out, "collapsed"), "percent"))
        self.cgroup.set_limit(1 << 30)
        self.assert_recordable(target.pid)
        self.assertEqual(target.end().code, 0)

    def test_a_file_recording_ends_when_memory_gets_short(self):
        target = self.start_inside(self.target_path("shares_nofp"), env={"SWIPR_RECORD": str(self.folder)})
        path = self.folder / f"shares_nofp-{target.pid}.swipr"
        deadline.wait_until(lambda: path.exists() and raw.has_tick(path.read_bytes()), "a tick")
        self.leave(MIB)
        deadline.wait_until(lambda: b"memory cgroup" in path.read_bytes(), "the end of the recording")
        self.cgroup.set_limit(1 << 30)
        self.assertEqual(target.end().code, 0)
        self.assertRegex(self.swipr("convert", path, "--format", "collapsed").err, "memory cgroup")


if __name__ == "__main__":
    unittest.main()
