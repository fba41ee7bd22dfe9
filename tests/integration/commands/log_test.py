"""SWIPR_LOG: logs events, refused requests and losses, without an effect on the program."""

import datetime
import fcntl
import os
import re
import signal
import subprocess
import time
import unittest

from support import deadline
from support.case import SwiprCase
from support.guest import GuestCase

LINE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z swipr\[\d+\] (error|warning|info|debug): (.*)")


class LogTest(SwiprCase):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"

    def start_logging(self, level=None, **more):
        settings = {"SWIPR_LOG": str(self.log), **more}
        if level:
            settings["SWIPR_LOG_LEVEL"] = level
        return self.start_target("shares_nofp", env=settings)

    def lines(self):
        """Each line has the format documented in the manual page."""
        found = [LINE.fullmatch(line) for line in self.log.read_text().splitlines()]
        self.assertNotIn(None, found, self.log.read_text())
        return [(line[2], line[3]) for line in found]

    def said(self, level, pattern):
        return any(at == level and re.search(pattern, what) for at, what in self.lines())

    def test_a_recording_from_its_beginning_to_its_end(self):
        target = self.start_logging()
        self.record(target.pid, "--count", 20, "--interval", "1ms")
        self.request(self.socket_of(target.pid), "GET", "/no/such/path")
        self.assertEqual(target.end().code, 0)
        self.assertTrue(self.said("info", rf"listening: {self.socket_of(target.pid)}"))
        self.assertTrue(self.said("info", "a recording begins, with a tick every: 1000000 ns"))
        self.assertTrue(self.said("info", r"a recording ends: \d+ ticks, \d+ samples"))
        self.assertTrue(self.said("warning", "request refused: 404: there is no /no/such/path"))
        self.assertNotIn("debug", {level for level, _ in self.lines()})

    def test_times(self):
        def now():
            return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")[:23]

        before = now()
        self.assertEqual(self.start_logging().end().code, 0)
        for line in self.log.read_text().splitlines():
            self.assertTrue(before <= LINE.fullmatch(line)[1] <= now(), line)

    def test_levels(self):
        target = self.start_logging("debug")
        self.request(self.socket_of(target.pid), "GET", "/v1/info")
        self.assertEqual(target.end().code, 0)
        self.assertTrue(self.said("debug", "request: GET /v1/info"))
        self.log.unlink()
        target = self.start_logging("warning")
        self.request(self.socket_of(target.pid), "GET", "/v1/info")
        self.request(self.socket_of(target.pid), "POST", "/v1/record", body="{")
        self.assertEqual(target.end().code, 0)
        self.assertEqual({level for level, _ in self.lines()}, {"warning"})
        self.log.unlink()
        settings = {"SWIPR_LOG": str(self.log), "SWIPR_LOG_LEVEL": "error", "SWIPR_SOCKET_DIR": "/dev/null/swipr"}
        target = self.start(self.target_path("shares_nofp"), env=settings, preloaded=True)
        target.wait_ready()
        deadline.wait_until(lambda: self.log.exists() and self.log.read_text().endswith("\n"), "a line")
        self.assertEqual(target.end().code, 0)
        (line,) = self.lines()
        self.assertEqual(line, ("error", "cannot create the socket directory: /dev/null/swipr: errno 20"))

    def test_why_a_program_is_not_there(self):
        for variable, value, reason in (("SWIPR_DISABLE", "1", "SWIPR_DISABLE is set"), ("SWIPR_ONLY", "x*", "SWIPR_ONLY does not match")):
            self.log.unlink(missing_ok=True)
            self.assertEqual(self.start_logging(**{variable: value}).end().code, 0)
            self.assertTrue(self.said("info", f"disabled: {reason}"))

    def test_a_link_is_not_followed(self):
        precious = self.folder / "precious"
        precious.write_text("precious")
        self.log.symlink_to(precious)
        for more in ({}, {"SWIPR_DISABLE": "1"}):
            self.assertEqual(self.start_logging(**more).end().code, 0)
        self.assertEqual(precious.read_text(), "precious")

    def test_a_fifo_without_a_reader_holds_nobody_up(self):
        os.mkfifo(self.log)
        for more in ({}, {"SWIPR_DISABLE": "1"}):
            self.assertEqual(self.start_logging(**more).end().code, 0)

    def test_terminals_obey_nothing_that_is_logged(self):
        script = f"exec -a $'\\x1b[31m\\xc2\\x9bred' {self.target_path('burn_nofp')} 0"
        env = {"SWIPR_LOG": str(self.log), "SWIPR_ONLY": "nothing"}
        self.assertEqual(self.start("/bin/bash", "-c", script, preloaded=True, env=env).end().code, 0)
        said = self.log.read_bytes()
        self.assertIn(b"?[31m", said)
        self.assertNotIn(b"\x1b", said)
        self.assertNotIn(b"\x9b", said)

    def test_what_was_lost(self):
        """A stopped program misses ticks."""
        target = self.start_logging()
        client, data = self.start_streaming(target.pid, "--interval", "1ms")
        target.signal(signal.SIGSTOP)
        stopped_until = time.monotonic() + 0.05
        deadline.wait_until(lambda: time.monotonic() > stopped_until, "some ticks' time")
        target.signal(signal.SIGCONT)
        self.finish_streaming(client, data)
        self.assertEqual(target.end().code, 0)
        self.assertTrue(self.said("warning", r"lost in this recording: \d+ ticks that came too late"))


class StderrTest(GuestCase):
    """The log goes to the stderr that the program had at its start, and never blocks."""

    SETTINGS = {"SWIPR_LOG": "stderr", "SWIPR_LOG_LEVEL": "debug"}

    def environment_with_log(self):
        return self.environment({**self.SETTINGS, "LD_PRELOAD": str(self.preload)})

    def test_lines_come_to_stderr(self):
        finished = self.start_target("shares_nofp", env=self.SETTINGS).end()
        self.assertEqual(finished.code, 0)
        for line in finished.err.splitlines():
            self.assertRegex(line, LINE)
        self.assertRegex(finished.err, "info: listening: ")

    def test_descriptors_stay_the_same(self):
        plain = self.run_plain("guest_life_nofp", "descriptors")
        for place in ("stderr", str(self.folder / "log")):
            logging = self.run_plain("guest_life_nofp", "descriptors", preloaded=True, env={"SWIPR_LOG": place})
            self.assertEqual((logging.code, logging.out), (plain.code, plain.out), f"{place}: {logging.err}")

    def test_a_full_pipe_and_one_without_a_reader(self):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, bytes(4096))
        command = [str(self.target_path("burn_nofp")), "0", "7"]
        ways = ({}, {"SWIPR_DISABLE": "1"})
        try:
            for extra in ways:
                full = subprocess.run(command, env={**self.environment_with_log(), **extra}, stderr=writer, check=False,
                                      timeout=deadline.DEADLINE_SECONDS)
                self.assertEqual(full.returncode, 7)
        finally:
            os.close(reader)
        for extra in ways:
            broken = subprocess.run(command, env={**self.environment_with_log(), **extra}, stderr=writer, check=False,
                                    timeout=deadline.DEADLINE_SECONDS)
            self.assertEqual(broken.returncode, 7)
        os.close(writer)

    def test_a_file_that_the_program_opens_as_number_two_is_left_alone(self):
        """A forked child opens the log again, after descriptor 2 was changed."""
        data = self.folder / "data"
        script = f"read line; exec 2>{data}; (read line); echo payload >&2"
        shell = self.start("/bin/sh", "-c", script, preloaded=True, env=self.SETTINGS)
        deadline.wait_until(lambda: "listening" in shell.err(), "the shell's log")
        shell.send("go\n")
        deadline.wait_until(lambda: len(list(self.sockets.glob("*.sock"))) == 2, "the child's socket")
        self.assertEqual(shell.end().code, 0)
        self.assertEqual(data.read_bytes(), b"payload\n")


if __name__ == "__main__":
    unittest.main()
