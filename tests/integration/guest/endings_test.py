"""Ends of recordings: count, Ctrl-C, end of the target. Recorded data is always kept."""

import json
import pathlib
import re
import signal
import unittest

from support import deadline, profiles, raw, repetition
from support.case import SwiprCase


class EndingsCase(SwiprCase):
    def check_count(self):
        target = self.start_target("blocked_nofp")
        path = self.record(target.pid, "--count", 40, "--interval", "5ms")
        (source,) = raw.read(path.read_bytes()).values()
        self.assertEqual(source.ticks_asked, 40)
        self.assertTrue(source.ended)
        delivered = source.totals["ticks"]
        missed = source.totals.get("ticks_missed", 0)
        self.assertEqual(delivered + missed, 40, source.totals)
        self.assertGreater(delivered, 0, source.totals)
        stacks = self.convert(path, "collapsed", "--weight", "samples")
        for kind in ("poll", "epoll", "read"):
            mine = profiles.total([stack for stack in stacks if stack.thread == kind])
            self.assertEqual(mine, delivered, f"thread {kind}: {source.totals}")

    def check_death_of_the_target(self, how):
        target = self.start_target("killer_nofp")
        running, data = self.start_streaming(target.pid, "--interval", "2ms")
        target.send(how + "\n")
        finished = running.end()
        target.wait()
        self.assertEqual(finished.code, 0, repr(finished))
        path = self.folder / "death.swipr"
        path.write_bytes(data + finished.out)
        (source,) = raw.read(path.read_bytes()).values()
        self.assertTrue(source.ended, "swipr record writes the end that the target could not")
        for fmt in ("collapsed", "perf", "pprof"):
            self.assertTrue(profiles.has_function(self.convert(path, fmt), "killer_hot"), fmt)
        self.check_totals(path, finished.err, complete=how in ("exit", "quick"))

    def check_totals(self, path, summary, complete):
        """The report and the summary agree with the recording."""
        samples = profiles.total(self.convert(path, "collapsed", "--weight", "samples"))
        self.assertGreater(samples, 0)
        (process,) = json.loads(self.swipr("report", "--json", path).out)["processes"]
        self.assertEqual(process["complete"], complete)
        self.assertEqual(process["totals"]["samples"], samples)
        self.assertGreater(process["duration_ns"], 0)
        self.assertRegex(summary, f"; {samples:,} samples? of ")


class EndingsTest(EndingsCase):
    def test_count_means_ticks(self):
        self.check_count()

    def test_duration_ends_a_recording(self):
        target = self.start_target("blocked_nofp")
        path = self.record(target.pid, "--duration", "300ms", "--rate", 100)
        (source,) = raw.read(path.read_bytes()).values()
        self.assertTrue(source.ended)
        self.assertEqual(source.interval_ns, 10_000_000)
        ticks = source.totals["ticks"] + source.totals.get("ticks_missed", 0)
        self.assertAlmostEqual(ticks, 30, delta=2)

    def test_target_exits(self):
        self.check_death_of_the_target("exit")

    def test_target_exits_without_cleaning_up(self):
        self.check_death_of_the_target("quick")

    def test_target_aborts(self):
        self.check_death_of_the_target("abort")

    def test_target_is_killed(self):
        self.check_death_of_the_target("kill")

    def test_ctrl_c_keeps_what_there_is(self):
        target = self.start_target("shares_nofp")
        running, data = self.start_streaming(target.pid, "--interval", "2ms")
        path = self.finish_streaming(running, data)
        (source,) = raw.read(path.read_bytes()).values()
        self.assertTrue(source.ended)
        self.assertTrue(profiles.has_function(self.convert(path), "percent"))
        self.assertEqual(target.end().code, 0)

    def test_ctrl_c_keeps_what_there_is_in_a_file(self):
        target = self.start_target("shares_nofp")
        for fmt in ("raw", "perf", "pprof", "collapsed"):
            with self.subTest(format=fmt):
                path = self.folder / f"interrupted.{fmt}"
                running = self.start_swipr(
                    "record", "--pid", target.pid, "--interval", "2ms", "--format", fmt, "-o", path
                )
                self.wait_for_ticks(target.pid)
                running.signal(signal.SIGINT)
                finished = running.end()
                self.assertEqual(finished.code, 0, repr(finished))
                if fmt == "raw":
                    self.assertTrue(profiles.has_function(self.convert(path), "percent"))
                else:
                    self.assertTrue(profiles.has_function(profiles.parse(path.read_bytes(), fmt), "percent"))

    def test_a_second_signal_does_not_wait_for_a_process_that_hangs(self):
        target = self.start_target("shares_nofp")
        path = self.folder / "hung.swipr"
        running = self.start_swipr("record", "--pid", target.pid, "--interval", "2ms", "-o", path)
        deadline.wait_until(lambda: path.exists() and raw.has_tick(path.read_bytes()), "a tick")
        deadline.wait_until(lambda: profiles.has_function(self.convert(path), "percent"), "samples")
        target.signal(signal.SIGSTOP)
        try:
            running.signal(signal.SIGINT)
            running.signal(signal.SIGTERM)  # another number: two of the same could become one
            finished = running.end()
        finally:
            target.signal(signal.SIGCONT)
        self.assertEqual(finished.code, 130, repr(finished))
        self.assertIn(str(path), finished.err)
        self.assertTrue(profiles.has_function(self.convert(path), "percent"))

    def stop(self, target):
        target.signal(signal.SIGSTOP)
        status = pathlib.Path(f"/proc/{target.pid}/status")
        deadline.wait_until(lambda: "State:\tT" in status.read_text(), "a stopped process")

    def test_a_stopped_process_holds_nobody_up(self):
        early, late, interrupted = (self.start_target("shares_nofp") for _ in range(3))
        self.stop(early)
        paths = {name: self.folder / f"{name}.swipr" for name in ("early", "late", "interrupted")}

        def start(name, target, *options):
            return self.start_swipr("record", "--pid", target.pid, "--interval", "2ms", "-o", paths[name], *options)

        never = start("early", early)
        limited = start("late", late, "--duration", "2s")
        endless = start("interrupted", interrupted)
        for name, target in (("late", late), ("interrupted", interrupted)):
            deadline.wait_until(lambda path=paths[name]: path.exists() and raw.has_tick(path.read_bytes()), "a tick")
            self.stop(target)
        endless.signal(signal.SIGINT)
        self.assert_one_line_error(never.end(), rf"{early.pid}.*is stopped.*kill -cont {early.pid}\b", codes=(1,))
        self.assertFalse(paths["early"].exists())
        for name, program, target in (("late", limited, late), ("interrupted", endless, interrupted)):
            finished = program.end()
            self.assertEqual(finished.code, 1, repr(finished))
            self.assertRegex(finished.err, rf"{target.pid} .*is stopped.*kill -CONT {target.pid}\b")
            (source,) = raw.read(paths[name].read_bytes()).values()
            self.assertTrue(source.ended)
        for target in (early, late, interrupted):
            target.signal(signal.SIGCONT)
            self.assertEqual(target.end().code, 0)

    def wait_for_ticks(self, pid):
        """Waits until a recording of the process has done some ticks, by the counters of the process."""
        place = self.socket_of(pid)

        def counters():
            info = self.request(place, "GET", "/v1/info").json()
            return info.get("counters", info)

        before = counters()["ticks"]
        deadline.wait_until(lambda: counters()["ticks"] > before + 20, "ticks of the recording")

    def test_without_output_a_file_is_named_and_the_next_command_told(self):
        target = self.start_target("shares_nofp")
        finished = self.swipr("record", "--pid", target.pid, "--count", 20, "--interval", "2ms")
        (path,) = self.folder.glob("*.swipr")
        self.assertRegex(path.name, rf"^shares_nofp-{target.pid}-.*\.swipr$")
        told = finished.out.decode() + finished.err
        self.assertIn(path.name, told)
        command = re.search(r"swipr (report .*)$", told, re.MULTILINE)
        self.assertTrue(command, told)
        self.swipr(*command.group(1).split())

    def test_an_existing_recording_is_not_lost_without_output(self):
        target = self.start_target("shares_nofp")
        for _ in range(2):
            self.swipr("record", "--pid", target.pid, "--count", 2, "--interval", "1ms")
        self.assertEqual(len(list(self.folder.glob("*.swipr"))), 2)

    def test_several_recordings_at_once_are_each_complete(self):
        target = self.start_target("shares_nofp")
        wanted = ((100, "2ms"), (50, "5ms"), (200, "1ms"), (20, "10ms"))
        stacks = [[] for _ in wanted]

        def record():
            paths = [self.folder / f"parallel-{number}.swipr" for number in range(len(wanted))]
            running = [
                self.start_swipr("record", "--pid", target.pid, "--count", count, "--interval", interval, "-o", path)
                for (count, interval), path in zip(wanted, paths)
            ]
            for number, program in enumerate(running):
                finished = program.end()
                self.assertEqual(finished.code, 0, repr(finished))
                (source,) = raw.read(paths[number].read_bytes()).values()
                self.assertTrue(source.ended)
                self.assertEqual(source.totals["ticks"] + source.totals["ticks_missed"], wanted[number][0])
                self.assertEqual(source.totals["samples_dropped"], 0)
                stacks[number] += self.convert(paths[number], "collapsed", "--weight", "cpu")

        def judge():
            for each in stacks:
                self.assertGreater(profiles.share(each, "seventy_percent"), 50)

        repetition.until_it_holds(record, judge)

    def test_record_says_what_it_got(self):
        target = self.start_target("shares_nofp")
        finished = self.swipr(
            "record", "--pid", target.pid, "--count", 50, "--interval", "2ms", "-o", self.folder / "x.swipr"
        )
        said = finished.out.decode() + finished.err
        self.assertRegex(said, r"\b50\b.*ticks")
        self.assertNotIn("\r", said, "progress is for terminals")


if __name__ == "__main__":
    unittest.main()
