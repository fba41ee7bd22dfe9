"""`swipr record -- CMD`: the command behaves as without swipr, and all its processes are recorded."""

import json
import os
import select
import signal
import sys
import unittest

from support import profiles, raw
from support.case import SwiprCase


class CommandCase(SwiprCase):
    def record_command(self, *command, options=(), stdin_bytes=b"", expect=0):
        """Returns the finished swipr process and the bytes of the recording."""
        path = self.folder / "command.swipr"
        finished = self.swipr(
            "record", "-o", path, "--interval", "2ms", *options, "--", *command,
            stdin_bytes=stdin_bytes, expect=expect,
        )
        return finished, path

    def check_shell_with_two_images(self):
        burn, chain = self.target_path("burn_nofp"), self.target_path("exec_chain_nofp")
        _, path = self.record_command("sh", "-c", f"{chain} 200 {burn} 200; {burn} 100; true")
        stacks = self.convert(path, "collapsed", "--weight", "cpu")
        for function in ("before_exec", "burn_hot"):
            with self.subTest(function=function):
                self.assertGreater(profiles.share(stacks, function), 10)
        executables = [source.executable for source in raw.read(path.read_bytes()).values()]
        self.assertTrue(any("exec_chain_nofp" in executable for executable in executables), executables)
        self.assertEqual(sum("burn_nofp" in executable for executable in executables), 2, executables)


class CommandTest(CommandCase):
    def test_exit_code_of_the_command_is_swiprs(self):
        for code in (0, 3, 77):
            with self.subTest(code=code):
                self.record_command(self.target_path("burn_nofp"), 20, code, expect=code)

    def test_death_by_signal_is_swiprs(self):
        for name, number in (("kill", signal.SIGKILL), ("abort", signal.SIGABRT)):
            with self.subTest(signal=name):
                finished, path = self.record_command(
                    self.target_path("killer_nofp"), stdin_bytes=f"{name}\n".encode(), expect=None
                )
                self.assertIn(finished.code, (-number, 128 + number), repr(finished))
                self.assertTrue(raw.read(path.read_bytes()))
                self.convert(path)

    def test_json_summary_of_a_recording(self):
        summary = self.folder / "summary.json"
        finished, path = self.record_command(self.target_path("burn_nofp"), 100, 3,
                                             options=("--json", summary), expect=3)
        told = json.loads(summary.read_text())
        (source,) = raw.read(path.read_bytes()).values()
        self.assertEqual(finished.out, b"")
        self.assertEqual((told["exit_code"], told["error"], told["errors"]), (3, None, []))
        self.assertEqual((told["output"], told["raw_bytes"]), (str(path), path.stat().st_size))
        self.assertEqual((told["processes"], told["interval_ns"]), (1, 2_000_000))
        for name, total in (("ticks", "ticks"), ("ticks_missed", "ticks_missed"), ("samples", "samples")):
            with self.subTest(name=name):
                self.assertEqual(told[name], source.totals[total])
        self.assertGreater(told["samples"], 0)

    def test_json_summary_of_a_failure(self):
        summary = self.folder / "summary.json"
        finished = self.swipr("record", "--name", "no-such-name", "--json", summary, expect=1)
        told = json.loads(summary.read_text())
        self.assertIn(told["error"], finished.err)
        self.assertIn("no-such-name", told["error"])
        self.assertEqual((told["exit_code"], told["output"], told["samples"]), (1, None, 0))

    def test_standard_streams_are_passed(self):
        finished, _ = self.record_command(
            "sh", "-c", "read line; echo out:$line; echo err:$line >&2", stdin_bytes=b"hello\n"
        )
        self.assertEqual(finished.out, b"out:hello\n")
        self.assertIn("err:hello\n", finished.err)

    def test_nobody_reads_its_messages(self):
        path = self.folder / "unread.swipr"
        script = '{ "$@"; echo $? > code; } 2>&1 | true'
        command = (self.program, "record", "-o", path, "--", self.target_path("burn_nofp"), 50, 3)
        self.start("sh", "-c", script, "sh", *command).wait()
        self.assertEqual((self.folder / "code").read_text(), "3\n")
        self.assertTrue(self.convert(path))

    def test_a_command_that_is_not_there(self):
        finished, path = self.record_command("/no/such/program", expect=None)
        self.assert_one_line_error(finished, "/no/such/program", codes=(1, 2, 127))
        self.assertFalse(path.exists())

    def test_shells_children_and_their_images_are_followed(self):
        self.check_shell_with_two_images()

    def test_app_behind_a_shell(self):
        burn = self.target_path("burn_nofp")
        _, path = self.record_command("sh", "-c", f"{burn} 300; true")
        stacks = self.convert(path, "collapsed", "--weight", "cpu")
        self.assertGreater(profiles.share(stacks, "burn_hot"), 80)

    def test_a_program_that_is_just_starting_is_waited_for(self):
        path = self.folder / "young.swipr"
        script = f"""LD_PRELOAD=$SWIPR_PRELOAD {self.target_path('burn_nofp')} 1000 & \
            $SWIPR_PROGRAM record --pid $! --count 5 -o {path}; code=$?; kill $!; exit $code"""
        for _ in range(5):
            finished = self.start("sh", "-c", script).end()
            self.assertEqual(finished.code, 0, repr(finished))
            (source,) = raw.read(path.read_bytes()).values()
            self.assertEqual(source.totals["ticks"] + source.totals["ticks_missed"], 5)

    def test_no_follow_leaves_children_out(self):
        burn = self.target_path("burn_nofp")
        _, path = self.record_command("sh", "-c", f"{burn} 100; true", options=("--no-follow",))
        self.assertEqual(len(raw.read(path.read_bytes())), 1)
        self.assertFalse(profiles.has_function(self.convert(path), "burn_hot"))

    def test_a_command_that_ends_at_once_gives_a_valid_file(self):
        _, path = self.record_command("true")
        (source,) = raw.read(path.read_bytes()).values()
        self.assertTrue(source.ended)
        self.assertIn("true", source.executable)
        for fmt in ("collapsed", "perf", "pprof"):
            self.convert(path, fmt)

    def test_cpu_of_the_command_is_all_there(self):
        _, path = self.record_command(self.target_path("burn_nofp"), 500)
        stacks = self.convert(path, "collapsed", "--weight", "cpu")
        burnt = sum(stack.weight for stack in stacks if "main" in stack.frames)
        # Below: time before main. Above: the chunk in which the limit is reached.
        self.assertAlmostEqual(burnt / 500e6, 1.0, delta=0.05)

    def test_main_is_recorded_from_its_first_instruction(self):
        # On a stalled machine a tick is late; CPU time until then is reported at the next tick.
        _, path = self.record_command(self.target_path("burn_nofp"), 200)
        stacks = self.convert(path, "collapsed", "--weight", "cpu")
        burnt = sum(stack.weight for stack in stacks if "main" in stack.frames)
        self.assertGreater(burnt, 190e6)

    def test_signals_to_swipr_reach_the_command(self):
        script = 'trap "echo caught; exit 5" TERM; echo started; while :; do read x || exit 9; done'
        path = self.folder / "signal.swipr"
        running = self.start_swipr("record", "-o", path, "--", "sh", "-c", script)
        self.assertEqual(running.read_line(), "started")
        # A shell misses a signal between its check and read(), also without swipr: 1 of 1,300 here.
        answered = False
        while not answered:
            running.signal(signal.SIGTERM)
            answered, _, _ = select.select([running.process.stdout], [], [], 2)
        self.assertEqual(running.read_line(), "caught")
        self.assertEqual(running.wait().code, 5)
        self.assertTrue(raw.read(path.read_bytes()))

    def test_signals_that_the_caller_ignores(self):
        """They are ignored in the command as well. Its end is detected even if the kernel reaps children."""
        asks = ("sh", "-c", "grep SigIgn /proc/self/status; exit 3")
        script = """import os, signal, sys
for number in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(number, signal.SIG_DFL)
signal.signal(int(sys.argv[1]), signal.SIG_IGN)
os.execvp(sys.argv[2], sys.argv[2:])"""
        path = self.folder / "ignored.swipr"
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
            with self.subTest(number=number):
                ignoring = (sys.executable, "-S", "-c", script, int(number))
                plain = self.start(*ignoring, *asks).wait()
                recorded = self.start(*ignoring, self.program, "record", "-o", path, "--", *asks).wait(20)
                self.assertEqual((recorded.code, recorded.out), (3, plain.out), repr(recorded))
                self.assertTrue(raw.read(path.read_bytes()))

    def test_limit_of_file_sizes(self):
        """The recording fails, in one line; the command runs to its end."""
        path = self.folder / "limited.swipr"
        limited = ("sh", "-c", "ulimit -f 1; exec \"$@\"", "sh")
        command = ("sh", "-c", f"{self.target_path('burn_nofp')} 300; echo ran")
        finished = self.start(*limited, self.program, "record", "-o", path, "--", *command).wait()
        self.assertEqual((finished.code, finished.out), (1, b"ran\n"), repr(finished))
        self.assertRegex(finished.err, r"^swipr: .*limited\.swipr.*File too large.*\n$")

    def test_a_recording_of_nothing_says_so_and_why(self):
        path = self.folder / "nothing.swipr"
        finished = self.swipr("record", "--interval", "10s", "-o", path, "--", "true")
        self.assertIn("nothing was recorded", finished.err)
        report = self.swipr("report", path)
        self.assertIn("nothing was recorded: the program or the recording ended before the first tick", report.err)
        self.assertNotIn(b"function (by", report.out)

    def test_the_raw_bytes_of_a_conversion_have_no_name(self):
        target = self.start_target("shares_nofp")
        before = set(os.listdir(self.folder))
        output = self.folder / "x.html"
        for place in ("-", output):
            running = self.start_swipr(
                "record", "--pid", target.pid, "--format", "collapsed", "--duration", "500ms", "-o", place
            )
            seen = set()
            while running.process.poll() is None:
                seen |= {name for name in os.listdir(self.folder) if name.endswith(".swipr")}
            self.assertEqual(seen, set())
            running.end()
        new = {name for name in set(os.listdir(self.folder)) - before if not name.startswith("stderr")}
        self.assertEqual(new - {"cache"}, {"x.html"})

    def test_arguments_stay_out_of_the_recording_when_asked(self):
        command = (self.target_path("burn_nofp"), 20, 0, "--password=hunter2")
        _, path = self.record_command(*command)
        self.assertIn(b"hunter2", path.read_bytes())
        _, path = self.record_command(*command, options=("--no-arguments",))
        self.assertNotIn(b"hunter2", path.read_bytes())
        self.assertTrue(raw.read(path.read_bytes()))

    def leave_running(self, milliseconds, *options):
        """Records a shell that ends at once and leaves a process running: (finished swipr, its pid, the recording)."""
        path = self.folder / "left.swipr"
        script = f"{self.target_path('burn_nofp')} {milliseconds} >/dev/null 2>&1 & echo $!; exit 3"
        running = self.start_swipr("record", "--interval", "2ms", "-o", path, *options, "--", "sh", "-c", script)
        burner = int(running.read_line())
        finished = running.end()
        self.assertEqual(finished.code, 3, repr(finished))
        return finished, burner, path

    def test_what_the_command_leaves_running_is_named(self):
        finished, burner, path = self.leave_running(100_000)
        os.kill(burner, signal.SIGKILL)  # fails when it does not run any more
        self.assertRegex(finished.err, rf"no longer recorded: {burner} \(.*swipr record --pid {burner}\b")
        self.assertTrue(all(source.ended for source in raw.read(path.read_bytes()).values()))

    def test_a_duration_holds_for_what_the_command_leaves_running(self):
        finished, burner, path = self.leave_running(100_000, "--duration", "2s")
        os.kill(burner, signal.SIGKILL)
        self.assertNotIn("no longer recorded", finished.err)
        stacks = self.convert(path, "collapsed", "--weight", "cpu")
        burnt = sum(stack.weight for stack in stacks if "burn_hot" in stack.frames)
        self.assertGreater(burnt, 20e6)  # beside other work it gets a share of a CPU

    def test_a_recording_ends_with_the_last_process_of_the_command(self):
        _, _, path = self.leave_running(200, "--duration", "10min")
        stacks = self.convert(path, "collapsed", "--weight", "cpu")
        burnt = sum(stack.weight for stack in stacks if "main" in stack.frames and "burn_hot" in stack.frames)
        self.assertGreater(burnt, 150e6)  # of 200: loading and waking are not in it

    def test_formats_on_the_fly(self):
        burn = self.target_path("burn_nofp")
        for fmt in ("collapsed", "perf", "pprof"):
            with self.subTest(format=fmt):
                path = self.folder / f"out.{fmt}"
                self.swipr("record", "--format", fmt, "-o", path, "--", burn, 200)
                stacks = profiles.parse(path.read_bytes(), fmt)
                self.assertTrue(profiles.has_function(stacks, "burn_hot"))


if __name__ == "__main__":
    unittest.main()
