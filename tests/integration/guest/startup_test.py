"""SWIPR_RECORD: a recording without a client from the constructor to any kind of end."""

import os
import signal
import unittest

from support import deadline, profiles, raw
from support.case import SwiprCase

EXEC_WAYS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat")


class StartupTest(SwiprCase):
    def setUp(self):
        super().setUp()
        self.records = self.folder / "records"
        self.records.mkdir()

    def run_recorded(self, *command, where=None, expect=0, env=None, stdin=b""):
        settings = {"SWIPR_RECORD": str(where or self.records), "SWIPR_RECORD_INTERVAL": "2ms", **(env or {})}
        running = self.start(*command, env=settings, preloaded=True)
        if stdin:
            running.send(stdin.decode())
        finished = running.end()
        self.assertEqual(finished.code, expect, repr(finished))
        return running.pid

    def files(self):
        return sorted(path.name for path in self.records.iterdir())

    def source(self, name):
        (source,) = raw.read((self.records / name).read_bytes()).values()
        return source

    def functions(self, name, pattern):
        return profiles.has_function(self.convert(self.records / name), pattern)

    def test_records_to_the_end_of_the_process(self):
        pid = self.run_recorded(self.target_path("burn_nofp"), 100, 3, expect=3)
        name = f"burn_nofp-{pid}.swipr"
        self.assertEqual(self.files(), [name])
        self.assertTrue(self.source(name).ended)
        self.assertGreater(self.source(name).totals["ticks"], 0)
        stacks = self.convert(self.records / name, "collapsed", "--weight", "cpu")
        self.assertGreater(profiles.share(stacks, "burn_hot"), 50)

    def test_pid_in_the_name_is_replaced(self):
        pid = self.run_recorded(self.target_path("burn_nofp"), 20, where=self.records / "a-{PID}.swipr")
        self.assertEqual(self.files(), [f"a-{pid}.swipr"])

    def test_what_is_no_file_is_refused_in_one_line(self):
        pipe, log = self.records / "pipe", self.folder / "log"
        os.mkfifo(pipe)
        for way in (pipe, "/dev/null"):
            self.run_recorded(self.target_path("burn_nofp"), 20, 3, where=way, expect=3, env={"SWIPR_LOG": str(log)})
        said = [line for line in log.read_text().splitlines() if "SWIPR_RECORD" in line]
        self.assertEqual(len(said), 2, said)
        self.assertRegex(said[0], "needs a folder or a regular file.*: .*/pipe$")

    def test_a_second_run_replaces_the_file_of_the_first(self):
        where = self.records / "x.swipr"
        for _ in range(2):
            pid = self.run_recorded(self.target_path("burn_nofp"), 40, where=where)
        self.assertIn("x.swipr", self.files())
        # Processes start at clock ticks: one that starts in the tick of the last write cannot tell.
        self.assertTrue(set(self.files()) <= {"x.swipr", f"x-{pid}.swipr"}, self.files())

    def test_processes_that_inherit_a_name_have_files_of_their_own(self):
        burn = self.target_path("burn_nofp")
        shell = self.run_recorded("sh", "-c", f"{burn} 60; true", where=self.records / "x.swipr")
        self.assertTrue(self.functions("x.swipr", "."))
        others = [name for name in self.files() if name != "x.swipr"]
        self.assertTrue(any(self.functions(name, "burn_hot") for name in others), self.files())
        self.assertNotIn(f"x-{shell}.swipr", others)

    def test_quick_exit_finishes_the_file(self):
        for how, code in (("quick", 4), ("quick_exit", 5)):
            with self.subTest(how):
                pid = self.run_recorded(self.target_path("killer_nofp"), expect=code, stdin=f"{how}\n".encode())
                self.assertTrue(self.source(f"killer_nofp-{pid}.swipr").ended)

    def test_what_a_fatal_signal_leaves_converts(self):
        for how, number in (("kill", signal.SIGKILL), ("abort", signal.SIGABRT)):
            with self.subTest(signal=how):
                settings = {"SWIPR_RECORD": str(self.records), "SWIPR_RECORD_INTERVAL": "2ms"}
                running = self.start_target("killer_nofp", env=settings)
                path = self.records / f"killer_nofp-{running.pid}.swipr"
                deadline.wait_until(
                    lambda: self.functions(path.name, "killer_hot"), "samples in the file"
                )
                running.send(f"{how}\n")
                self.assertEqual(running.end().code, -number)
                self.assertFalse(self.source(path.name).ended)
                self.assertTrue(self.functions(path.name, "killer_hot"))

    def test_exec_in_every_way_loses_nothing_and_works(self):
        # The CPU clock goes on across exec, so burn works for what before_exec left of its time.
        for way in EXEC_WAYS:
            with self.subTest(way=way):
                pid = self.run_recorded(
                    self.target_path("exec_ways_nofp"), way, self.target_path("burn_nofp"), 250
                )
                before = f"exec_ways_nofp-{pid}.swipr"
                # Totals come once a second: in so short a recording only the flush can write them.
                self.assertGreater(self.source(before).totals["ticks"], 0)
                self.assertTrue(self.functions(before, "before_exec"))
                self.assertTrue(self.functions(f"burn_nofp-{pid}.swipr", "burn_hot"))
                self.assertTrue(self.source(f"burn_nofp-{pid}.swipr").ended)

    def test_recording_goes_on_when_exec_fails(self):
        pid = self.run_recorded(self.target_path("exec_ways_nofp"), "fail", "x", 0, expect=5)
        name = f"exec_ways_nofp-{pid}.swipr"
        self.assertTrue(self.source(name).ended)
        for function in ("before_exec", "after_failed_exec"):
            self.assertTrue(self.functions(name, function), function)

    def test_a_vfork_child_leaves_the_parents_recording_alone(self):
        pid = self.run_recorded(self.target_path("exec_ways_nofp"), "vfork", self.target_path("burn_nofp"), 250)
        name = f"exec_ways_nofp-{pid}.swipr"
        self.assertTrue(self.source(name).ended)
        self.assertTrue(self.functions(name, "after_vfork"))
        self.assertEqual(len(self.files()), 2, self.files())

    def test_a_file_that_cannot_be_written_is_no_harm_to_the_program(self):
        log = self.folder / "log"
        self.run_recorded(
            self.target_path("burn_nofp"), 0, 3, expect=3,
            where="/no/such/folder/x.swipr", env={"SWIPR_LOG": str(log)},
        )
        self.assertRegex(log.read_text(), "cannot write the recording.*/no/such/folder/x.swipr")

    def test_swiprs_own_waiting_is_not_recorded(self):
        # A signal may meet the thread where it runs in swipr's code; such stacks end in no state.
        def own_waits(path):
            stacks = self.convert(path, "collapsed", "--weight", "samples", "--state-frames", "on")
            waits = [s.frames for s in stacks if s.frames[-1].startswith("[")]
            return [frames for frames in waits if any(name.startswith("swipr::agent::") for name in frames)]

        for number in range(20):
            path = self.folder / f"command-{number}.swipr"
            self.swipr("record", "--interval", "1ms", "-o", path, "--", self.target_path("burn_nofp"), 10)
            self.assertEqual(own_waits(path), [])


if __name__ == "__main__":
    unittest.main()
