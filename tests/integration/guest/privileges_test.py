"""A program that gave up its privileges hides where its threads wait from its own process. It is
recorded all the same, and no call of it is broken for that."""

import os
import pathlib
import re
import signal
import unittest

from support import deadline, raw
from support.case import SwiprCase


def rights_of(task):
    """Ids and capabilities of a thread."""
    lines = (line.partition(":") for line in (task / "status").read_text().splitlines())
    return {name: value.strip() for name, _, value in lines if name in ("Uid", "Gid", "Groups") or name.startswith("Cap")}


class PrivilegesCase(SwiprCase):
    def start_dropped(self, how="drop"):
        target = self.start_target("privileges_nofp")
        self.wait_for_socket(target.pid)
        target.send(f"{how}\n")
        self.assertEqual(target.read_line(), "dropped")
        return target

    def check_waits(self, how="drop", mode="wall"):
        target = self.start_dropped(how)
        path = self.folder / "privileges.swipr"
        recording = self.start_swipr("record", "--pid", target.pid, "--interval", "2ms", "--mode", mode, "-o", path)
        deadline.wait_until(lambda: path.exists() and path.stat().st_size > 0, "the recording's beginning")
        for _ in range(3):
            target.send("wait\n")
            self.assertEqual([target.read_line() for _ in range(3)], ["poll 0 full time"] * 2 + ["done"])
        self.assertEqual(target.end().code, 0)
        self.assertEqual(recording.wait().code, 0)
        # The main thread's place is still readable: it waits in poll, called by main.
        stacks = self.swipr("convert", path, "--format", "collapsed", "--weight", "wall").out.decode()
        self.assertRegex(stacks, re.compile(r"^privileges_nofp;.*;main;.*poll", re.M))


class PrivilegesTest(PrivilegesCase):
    def test_after_setuid(self):
        self.check_waits()

    def test_the_main_threads_place_is_read_without_a_signal(self):
        self.check_waits(mode="offcpu")

    def test_after_capset(self):
        self.check_waits("capset")

    @unittest.skipUnless(os.geteuid() == 0, "only root has rights to give up")
    def test_the_control_thread_has_no_more_rights_than_the_program(self):
        for how in ("drop", "number", "capset"):
            with self.subTest(how):
                target = self.start_dropped(how)
                rights = [rights_of(task) for task in pathlib.Path(f"/proc/{target.pid}/task").iterdir()]
                self.assertEqual(len(rights), 2)
                self.assertEqual(rights[0], rights[1])
                self.assertEqual(rights[0]["CapEff"], "0" * 16)
                self.assertEqual(target.end().code, 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_after_setuid_by_number(self):
        self.check_waits("number")

    @unittest.skipUnless(os.geteuid() == 0, "only root becomes another user")
    def test_workers_that_give_up_root_at_once_can_be_recorded(self):
        """Only root may make files in the socket folder: a worker's file is there before its setuid is."""
        target = self.start_target("privileges_nofp")
        target.send("workers\n")
        workers = list(iter(target.read_line, "done"))
        self.assertEqual(len(workers), 40)
        try:
            for worker in workers:
                self.wait_for_socket(int(worker))
        finally:
            for worker in workers:
                os.kill(int(worker), signal.SIGKILL)
        self.assertEqual(target.end().code, 0)

    def test_a_hidden_wait_is_met_by_one_signal_and_has_its_stack(self):
        """Each thread works, is seen, and waits. What the signals of two looks add to the switches of the
        wait itself: one each."""
        target = self.start_dropped("drop")
        seen = set()

        def record_waits():
            path = self.folder / "hidden.swipr"
            recording = self.start_swipr("record", "--pid", target.pid, "--rate", 100, "--duration", "2s", "-o", path)
            deadline.wait_until(lambda: path.exists() and path.stat().st_size > 0, "the recording's beginning")
            target.send("sleep\n")
            for name in ("poll", "nanosleep", "pipe", "condition"):
                self.check_line(target.read_line(), name)
            self.assertEqual(target.read_line(), "done")
            self.assertEqual(recording.wait().code, 0)
            (source,) = raw.read(path.read_bytes()).values()
            self.assertEqual(source.totals["calls_interrupted"], 0)
            self.assertEqual(source.totals["stacks_rooted"], source.totals["stacks_walked"])
            for stack in self.convert(path, "collapsed", "--weight", "blocked", "--no-inlines"):
                self.check_stack(stack, seen)
            path.unlink()
            return seen == {"poll", "nanosleep", "pipe", "condition"}

        # A busy machine may look too late to ask where a time-out would become longer.
        deadline.wait_until(record_waits, "a stack of each wait")
        self.assertEqual(target.end().code, 0)

    def record_sleepers(self, target, *modes):
        """The totals of recordings of these modes, all at once, of the four threads that wait."""
        recordings = []
        for mode in modes:
            path = self.folder / f"{mode}.swipr"
            recording = self.start_swipr("record", "--pid", target.pid, "--rate", 100, "--mode", mode, "-o", path)
            recordings.append((recording, path))
            deadline.wait_until(lambda: path.exists() and path.stat().st_size > 0, "the recording's beginning")
        target.send("sleep\n")
        self.assertEqual([target.read_line() for _ in range(5)][-1], "done")
        self.assertEqual(target.end().code, 0)
        totals = []
        for recording, path in recordings:
            self.assertEqual(recording.wait().code, 0)
            (source,) = raw.read(path.read_bytes()).values()
            totals.append(source.totals)
        return totals

    def test_a_recording_of_waits_asks_for_no_signal_beside_one_that_does(self):
        wall, offcpu = self.record_sleepers(self.start_dropped(), "wall", "offcpu")
        self.assertGreater(wall["signals_to_blocked"], 0)
        self.assertEqual(offcpu["signals_to_blocked"], 0)

    def test_a_hidden_wait_that_no_signal_reaches_is_not_asked_again(self):
        """There are four waits, two of them of a hundred ticks, and some short ones as the threads begin."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            target = self.start_dropped()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        (wall,) = self.record_sleepers(target, "wall")
        self.assertGreater(wall["signals_to_blocked"], 0)
        self.assertLess(wall["signals_to_blocked"], 20)

    def check_line(self, line, name):
        match = re.fullmatch(rf"{name} full time, (\d+)", line)
        self.assertTrue(match, line)
        self.assertLessEqual(int(match[1]), 3, line)

    def check_stack(self, stack, seen):
        inside = [name for name in stack.frames if name.startswith("hidden_")]
        if inside:
            self.assertEqual(inside, [f"hidden_{stack.thread}"])
            if stack.weight > 300_000_000:
                seen.add(stack.thread)


class ConfinedPrivilegesTest(PrivilegesCase):
    confined = True

    def test_when_not_dumpable(self):
        self.check_waits()


if __name__ == "__main__":
    unittest.main()
