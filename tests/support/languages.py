"""What tests of all languages do with programs whose truth is known."""

import os
import re
import shutil

from support import profiles, raw, root
from support.case import SwiprCase


def programs(name, variable):
    """Paths of the program of that name on this machine and of those that the variable has (separated by colons); or
    that of the root in SWIPR_TEST_ROOT, as it is called inside it."""
    if root.current():
        return [f"/usr/bin/{name}"]
    found = [shutil.which(name), *os.environ.get(variable, "").split(":")]
    return list(dict.fromkeys(os.path.realpath(path) for path in found if path))


class LanguageCase(SwiprCase):
    def source(self, text, name):
        """A file of that name, with its suffix."""
        source = self.folder / name
        source.write_text(text)
        return source

    def run_program(self, *command, **started):
        program = self.start(*command, preloaded=True, **started)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        return program

    def finish(self, program):
        """Closes its input, at which it ends. Its last output."""
        finished = program.end()
        self.assertEqual(finished.code, 0, finished)
        return finished.out.decode()

    def record_shares(self, program):
        """(recording, {function: seconds}), which a program says that ends; its functions use 70, 20 and 10 % of its CPU
        time."""
        recording = self.record(program.pid, "--count", 1500, "--interval", "2ms")
        return recording, dict(zip(("seventy", "twenty", "ten"), map(float, self.finish(program).split())))

    def check_lost(self, stacks, most):
        lost = sum(s.weight for s in stacks if any(name.startswith("[function gone]") for name in s.frames))
        self.assertLessEqual(lost, most * profiles.total(stacks))

    def check_rooted(self, recording):
        (source,) = raw.read(recording.read_bytes()).values()
        self.assertGreater(source.totals["stacks_rooted"], 0.99 * source.totals["stacks_walked"])

    def check_undisturbed(self, recording):
        """No blocked thread was woken, and no call returned early."""
        (source,) = raw.read(recording.read_bytes()).values()
        self.assertEqual((source.totals["signals_to_blocked"], source.totals["calls_interrupted"]), (0, 0))

    def check_parts(self, stacks, times, frame="{}"):
        """Of the CPU time of these stacks the program's functions have the parts that it says: {function: seconds}.
        `frame`: how its functions are called there."""
        weight = profiles.total(stacks)
        for function, seconds in times.items():
            share = sum(s.weight for s in stacks if frame.format(function) in s.frames) / weight
            # Five standard errors of a share of half of the ticks, which a busy machine may leave.
            truth = seconds / sum(times.values())
            self.assertAlmostEqual(share, truth, delta=5 * (truth * (1 - truth) / 400) ** 0.5 + 0.05, msg=function)

    def check_selected_frames(self, program, says, frame, frames, kind):
        """--frames and --frame-kinds show and mark that frame. `says`: what doctor says, and `frames`: all frames of the
        program (patterns)."""
        recording = self.record(program.pid, "--count", 200)
        said = self.swipr("doctor", "--pid", program.pid).out.decode()
        self.assertRegex(said, says)
        self.finish(program)
        for selection, shown in (("--frames", "language"), frame), (("--frame-kinds",), f"{frame}_[{kind}]"):
            stacks = self.convert(recording, "collapsed", *selection)
            self.assertTrue(profiles.has_function(stacks, f"^{re.escape(shown)}$"), selection)
        native = self.convert(recording, "collapsed", "--frames", "native")
        self.assertTrue(native)
        self.assertFalse(profiles.has_function(native, frames))

    def check_switched_off(self, program, frames):
        """A program that is started with SWIPR_RUNTIMES=0 has stacks, and no frames of that pattern."""
        recording = self.record(program.pid, "--count", 100)
        self.finish(program)
        stacks = self.convert(recording, "collapsed")
        self.assertTrue(stacks)
        self.assertFalse(profiles.has_function(stacks, frames))


class EndedByFileCase(LanguageCase):
    """Programs whose language does not say whether there is input: they end when a file exists, their last argument."""

    def for_each(self, found, check, text, name):
        """Calls check(command) with each of the programs that were found."""
        self.assertTrue(found, "no such program on this machine")
        source = self.source(text, name)
        for path in found:
            with self.subTest(program=path):
                (self.folder / "end").unlink(missing_ok=True)
                check([path, source, self.folder / "end"])

    def running(self, recording, *selection):
        """What the program does beside asking for its end. The weight is the number of samples."""
        stacks = self.convert(recording, "collapsed", "--state", "running", *selection)
        return [s for s in stacks if not profiles.has_function([s], "^has_ended")]

    def finish(self, program):
        """Its last output."""
        (self.folder / "end").touch()
        return super().finish(program)
