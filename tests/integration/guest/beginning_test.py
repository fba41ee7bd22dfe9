"""Recordings of two ticks: stacks are complete, and their unwind tables are cached for other processes."""

import json
import pathlib
import unittest

from support.case import SwiprCase

BUSY_IN_A_LIBRARY = """
import sys, threading, zlib
data = b"x" * 1000000
print("ready", flush=True)
while True: zlib.crc32(data)
"""
ASLEEP = "import time; print('ready', flush=True); time.sleep(1000)"


class BeginningTest(SwiprCase):
    def start_python(self, code, env=None):
        target = self.start(self.python(), "-c", code, env=env, preloaded=True)
        target.wait_ready()
        self.wait_for_socket(target.pid)
        self.addCleanup(target.process.kill)
        return target

    @staticmethod
    def python():
        return "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else "python3"

    def totals_of(self, path):
        report = json.loads(self.swipr("report", "--json", path).out)
        return report["processes"][0]["totals"]

    def record_ticks(self, target, count, *options):
        return self.totals_of(self.record(target.pid, "--count", count, "--interval", "10ms", *options))

    def tables(self):
        folder = self.folder / "cache/swipr/tables"
        return {path.name: path for path in folder.iterdir()} if folder.exists() else {}

    def assert_whole(self, totals):
        self.assertGreater(totals["stacks_walked"], 0, totals)
        self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"], totals)
        self.assertEqual(totals["stacks_missing"], 0, totals)

    def test_two_ticks_of_a_waiting_program_have_whole_stacks(self):
        target = self.start_python(ASLEEP)
        for _ in range(3):
            self.assert_whole(self.record_ticks(target, 2))

    def test_two_ticks_of_a_thread_that_works_in_a_library_have_whole_stacks(self):
        """The library is not known before the thread answers."""
        target = self.start_python(BUSY_IN_A_LIBRARY)
        self.assert_whole(self.record_ticks(target, 2))
        target = self.start_python(BUSY_IN_A_LIBRARY)
        self.assert_whole(self.record_ticks(target, 2, "--mode", "cpu"))

    def test_tables_are_kept_for_other_processes(self):
        first = self.start_python(ASLEEP)
        self.assert_whole(self.record_ticks(first, 2))
        tables = self.tables()
        self.assertGreaterEqual(len(tables), 2, "of python and of libc")
        kept = {name: path.stat() for name, path in tables.items()}
        second = self.start_python(ASLEEP)
        self.assert_whole(self.record_ticks(second, 2))
        for name, path in self.tables().items():
            self.assertEqual(path.stat().st_mtime_ns, kept[name].st_mtime_ns, "built again")
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_damaged_tables_are_built_anew(self):
        first = self.start_python(ASLEEP)
        self.record_ticks(first, 2)
        whole = {name: path.read_bytes() for name, path in self.tables().items()}
        for path in self.tables().values():
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0xFF
            path.write_bytes(data)
        second = self.start_python(ASLEEP)
        self.assert_whole(self.record_ticks(second, 2))
        self.assertEqual({name: path.read_bytes() for name, path in self.tables().items()}, whole)

    def test_no_folder_is_made_by_the_program(self):
        """A request by HTTP, by a program whose user never ran `swipr record`."""
        home = self.folder / "home"
        home.mkdir()
        target = self.start_python(ASLEEP, env={"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")})
        answer = self.request(self.socket_of(target.pid), "POST", "/sample",
                              json.dumps({"numberOfSamples": 2, "timeInterval": "10 ms"}))
        self.assertEqual(answer.status, 200)
        self.assertEqual(list(home.iterdir()), [])

    def test_cache_off_keeps_nothing(self):
        target = self.start_python(ASLEEP, env={"SWIPR_CACHE": "off"})
        self.assert_whole(self.record_ticks(target, 2))
        self.assertEqual(self.tables(), {})


if __name__ == "__main__":
    unittest.main()
