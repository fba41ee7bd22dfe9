"""SWIPR_UNWINDER: libunwind walks in place of swipr's tables, or beside them; doctor tells the difference."""

import re
import unittest

from support import deadline, raw, sampling
from support.case import SwiprCase
from support.varint import read_varint

CHAIN = ["realigned_outer", "realigned_middle", "realigned_leaf"]
BY_LIBUNWIND, ROOTED = 8, 1


class UnwinderCase(SwiprCase):
    def start_shape(self, unwinder, mode, program="stack_frames_nofp", shape="realigned", env=None):
        settings = {"SWIPR_UNWINDER": unwinder, **(env or {})} if unwinder else env
        return self.start_target(program, shape, mode, "/dev/null", env=settings)

    def without_libunwind(self):
        """A library of that name comes first that is none."""
        folder = self.folder / "none"
        folder.mkdir()
        (folder / "libunwind-x86_64.so.8").write_bytes(b"")
        return {"LD_LIBRARY_PATH": str(folder)}

    def maps(self, target):
        with open(f"/proc/{target.pid}/maps", encoding="utf-8", errors="replace") as file:
            return file.read()

    def stack_flags(self, data):
        """The flags of every STACK record."""
        found = []
        for _, payload in raw.blocks(data):
            for kind, body in raw.records(payload):
                if kind == raw.STACK:
                    found.append(read_varint(body, read_varint(body, 0)[1])[0])
        return found

    def messages(self, data):
        return [
            body[2:].decode("utf-8", "replace")
            for _, payload in raw.blocks(data)
            for kind, body in raw.records(payload)
            if kind == raw.MESSAGE
        ]


@sampling.sampled
class RecordingTest(UnwinderCase):
    def record_shape(self, target):
        """(path, stacks of the shape's thread that have frames)."""

        def try_it():
            path = self.record(target.pid, "--count", 40, "--interval", "5ms")
            stacks = self.convert(path, "collapsed", "--weight", "samples", "--no-inlines")
            mine = [stack for stack in stacks if stack.thread == "shape" and "realigned_leaf" in stack.frames]
            return (path, mine) if mine else None

        return deadline.wait_until(try_it, "a recording that has its stacks")

    def check(self, unwinder, mode, by_libunwind):
        target = self.start_shape(unwinder, mode)
        path, stacks = self.record_shape(target)
        for stack in stacks:
            start = stack.frames.index("shape_thread")
            self.assertEqual(stack.frames[start + 1 : start + 4], CHAIN, stack.frames)
        flags = self.stack_flags(path.read_bytes())
        self.assertEqual({bool(each & BY_LIBUNWIND) for each in flags}, {by_libunwind})
        self.assertIn(True, {bool(each & ROOTED) for each in flags})
        self.assertEqual(target.end().code, 0)
        return path

    def test_libunwind_walks_running_threads(self):
        self.check("libunwind", "busy", True)

    def test_libunwind_walks_blocked_threads(self):
        self.check("libunwind", "blocked", True)

    def test_recording_and_report_say_so(self):
        path = self.check("libunwind", "busy", True)
        said = [text for text in self.messages(path.read_bytes()) if "libunwind walked the stacks" in text]
        self.assertEqual(len(said), 1, said)
        self.assertIn("libunwind walked the stacks", self.swipr("report", path).err)
        self.assertIn("libunwind walked the stacks", self.swipr("report", "--json", path).out.decode())

    def test_swiprs_tables_walk_by_default(self):
        for unwinder in (None, "swipr"):
            with self.subTest(unwinder=unwinder):
                path = self.check(unwinder, "busy", False)
                self.assertEqual([text for text in self.messages(path.read_bytes()) if "libunwind" in text], [])

    def test_library_is_loaded_only_where_it_is_wanted(self):
        for unwinder, wanted in ((None, False), ("libunwind", True)):
            with self.subTest(unwinder=unwinder):
                target = self.start_shape(unwinder, "busy")
                self.assertNotIn("libunwind", self.maps(target))
                self.record(target.pid, "--count", 2)
                self.assertEqual("libunwind-x86_64.so" in self.maps(target), wanted)
                self.assertEqual(target.end().code, 0)

    def test_recordings_one_after_the_other(self):
        target = self.start_shape("libunwind", "busy")
        for _ in range(3):
            path, _ = self.record_shape(target)
            self.assertEqual({each & BY_LIBUNWIND for each in self.stack_flags(path.read_bytes())}, {BY_LIBUNWIND})
        self.assertEqual(target.end().code, 0)

    def test_information_names_the_unwinder(self):
        for unwinder in ("swipr", "libunwind", "compare"):
            target = self.start_shape(unwinder, "blocked")
            info = self.request(self.socket_of(target.pid), "GET", "/v1/info").json()
            self.assertEqual(info["unwinder"], unwinder)
            self.assertNotIn("unwinder_failure", info)
            self.assertEqual(target.end().code, 0)

    def test_compared_stacks_are_swiprs(self):
        path = self.check("compare", "busy", False)
        (source,) = raw.read(path.read_bytes()).values()
        self.assertGreater(source.totals["stacks_compared"], 0)
        self.assertEqual(source.totals["differences_left_out"], 0)


class MissingTest(UnwinderCase):
    def test_swiprs_tables_walk_where_libunwind_is_missing(self):
        log = self.folder / "log"
        target = self.start_shape("libunwind", "busy", env={**self.without_libunwind(), "SWIPR_LOG": str(log)})
        path = self.record(target.pid, "--count", 20)
        said = [text for text in self.messages(path.read_bytes()) if "SWIPR_UNWINDER" in text]
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"libunwind cannot be used \(.*\); using swipr's tables; install libunwind8")
        self.assertEqual({each & BY_LIBUNWIND for each in self.stack_flags(path.read_bytes())}, {0})
        info = self.request(self.socket_of(target.pid), "GET", "/v1/info").json()
        self.assertIn("install libunwind8", info["unwinder_failure"])
        self.assertEqual(log.read_text().count("install libunwind8"), 2)  # once as a recording's message
        self.assertEqual(target.end().code, 0)

    def test_name_that_is_none(self):
        log = self.folder / "log"
        target = self.start_shape("gdb", "blocked", env={"SWIPR_LOG": str(log)})
        self.assertIn("SWIPR_UNWINDER is not swipr, libunwind or compare: gdb", log.read_text())
        self.record(target.pid, "--count", 2)
        self.assertEqual(target.end().code, 0)


@sampling.sampled
class DoctorTest(UnwinderCase):
    def compare(self, *command, env=None, seconds="1.5"):
        """(exit code, {line of the sums: number}, lines of differences). The command's stdin ends in time."""
        self.swipr("preload-path")
        words = " ".join(str(word) for word in ("doctor", "--compare-unwinders", "--", *command))
        finished = self.start("sh", "-c", f"sleep {seconds} | {self.program} {words}", env=env).end(60)
        out = finished.out.decode()
        sums = {}
        for line in out.splitlines():
            if found := re.fullmatch(r"([a-z, ]+?) +([\d,]+)( +[\d.]+ %)?", line):
                sums[found[1]] = int(found[2].replace(",", ""))
        lines = [line.strip() for line in out.splitlines() if ": swipr " in line]
        return finished, sums, lines

    def test_equal_stacks(self):
        for mode in ("busy", "blocked"):
            with self.subTest(mode=mode):
                finished, sums, lines = self.compare(
                    self.target_path("stack_frames_nofp"), "realigned", mode, "/dev/null"
                )
                self.assertGreater(sums["stacks walked by both"], 0)
                self.assertEqual((sums["the same"], lines), (sums["stacks walked by both"], []), finished)
                self.assertEqual(finished.code, 0)

    def test_generated_code_that_libunwind_does_not_see(self):
        for build in ("nofp", "fp"):
            with self.subTest(build=build):
                finished, sums, lines = self.compare(
                    self.target_path(f"stack_jit_{build}"), "told", "busy", "/dev/null"
                )
                self.assertEqual(finished.code, 3, finished)
                compared = sums["stacks walked by both"]
                self.assertGreater(sums["libunwind ends earlier"], 0, finished)
                self.assertEqual(compared, sums["the same"] + sums["libunwind ends earlier"], finished)
                self.assertRegex(
                    lines[0], r"^\d+ of generated::told\(\): swipr told_outer, libunwind the stack ends$"
                )

    def test_process_that_is_killed(self):
        finished, sums, _ = self.compare(
            "timeout", "-s", "KILL", "4", self.target_path("stack_jit_nofp"), "told", "busy", "/dev/null", seconds="9"
        )
        self.assertEqual(finished.code, 3, finished)
        self.assertGreater(sums["libunwind ends earlier"], 0)

    def test_without_libunwind(self):
        finished, _, _ = self.compare(
            self.target_path("stack_frames_nofp"), "realigned", "busy", "/dev/null", env=self.without_libunwind()
        )
        self.assertEqual(finished.code, 1)
        self.assertRegex(finished.err, r"swipr: doctor: libunwind cannot be loaded in the process; install libunwind8")

    def test_command_that_is_none(self):
        self.assert_one_line_error(self.swipr("doctor", "--compare-unwinders", expect=2), "requires a command")
        missing = self.swipr("doctor", "--compare-unwinders", "--", "/no/such/program", expect=127)
        self.assert_one_line_error(missing, "cannot run /no/such/program", codes=(127,))
        self.assert_one_line_error(self.swipr("doctor", "--", "true", expect=2), "--compare-unwinders")


if __name__ == "__main__":
    unittest.main()
