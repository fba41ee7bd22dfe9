"""The signal state that programs can query is the same with and without swipr: dispositions, masks,
pending signals, handlers that run."""

import pathlib
import signal
import sys
import unittest

from support import deadline, profiles, raw
from support.guest import GuestCase

TARGET = "guest_signals_nofp"


class SignalTest(GuestCase):
    def check(self, name):
        lines = self.check_same(TARGET, name)
        self.assertEqual(lines[0], f"== {name}")
        self.assertGreater(len(lines), 1)
        return lines

    def test_dispositions(self):
        self.check("dispositions")

    def test_older_functions(self):
        self.check("older functions")

    def test_foreign_signals_reach_the_program(self):
        self.assertEqual(self.check("foreign signals").count("sent: 50"), 4)

    def test_handlers_that_are_used_up(self):
        self.check("reset")

    def test_interruptions_by_the_program_itself(self):
        self.check("interruption")

    def test_nothing_of_swipr_is_pending(self):
        self.assertEqual(self.check("blocked")[1], "pending: 0")

    def test_sampling_signal_moves_to_another(self):
        self.assertEqual(self.check("other signal").count("seen: 20"), 2)

    def test_masks(self):
        lines = self.check("masks")
        asleep = self.run_plain(TARGET, "masks", preloaded=True, env={"SWIPR_DISABLE": "1"})
        self.assertEqual(asleep.out.decode().splitlines(), lines, "put to sleep")

    def test_handler_on_a_small_alternate_stack(self):
        self.check("small stack")

    def test_the_smallest_alternate_stack(self):
        self.assertIn("seen: 5", self.check("smallest stack"))

    def test_handlers_left_by_longjmp(self):
        self.check("longjmp")

    def test_profiling_timer(self):
        self.check("profiling timer")

    def test_child_of_vfork_has_its_own_dispositions(self):
        self.check("vfork")

    def test_handlers_can_unwind_what_they_interrupted(self):
        self.assertIn("reached: 1", self.check("backtrace"))

    def test_ignored_signal_is_inherited_by_exec(self):
        # The new image lives long enough to take over the socket of the previous one.
        asks = "import signal, time; print(signal.getsignal(signal.SIGURG).name); time.sleep(0.3)"
        busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
        script = f"""trap '' URG; {busy}; exec {sys.executable} -S -c '{asks}'"""
        self.assertEqual(self.check_same("/bin/sh", "-c", script), ["SIG_IGN"])

    def test_cancellation(self):
        self.check("cancellation")

    def record_with_everything_blocked(self, name):
        """Programs inherit the mask of their parent. Returns (stacks by CPU time, by wall time)."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            target = self.start_target(name)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        path = self.record(target.pid, "--count", 200, "--interval", "2ms")
        (source,) = raw.read(path.read_bytes()).values()
        self.assertEqual(source.totals["signals_sent"], 0)
        self.assertEqual(target.end().code, 0)
        return [self.convert(path, "collapsed", "--weight", weight) for weight in ("cpu", "wall")]

    def test_threads_that_block_everything_are_recorded(self):
        """Waiting threads have stacks; running ones have exact CPU times."""
        _, waiting = self.record_with_everything_blocked("blocked_nofp")
        for name in ("poll", "epoll", "read", "mutex", "condition", "nanosleep"):
            stacks = [stack for stack in waiting if stack.thread == name]
            self.assertTrue(profiles.has_function(stacks, "start_thread"), name)
            self.assertFalse(profiles.has_function(stacks, "no stack"), name)
        running, _ = self.record_with_everything_blocked("shares_nofp")
        self.assertGreater(profiles.total(running), 0)
        self.assertEqual({stack.frames[-1] for stack in running if "worker" in stack.thread}, {"[no stack]"})

    def test_a_signal_of_the_users_choice(self):
        """While a recording runs it is caught, and SIGURG is not."""
        target = self.start_target("shares_nofp", env={"SWIPR_SIGNAL": str(int(signal.SIGUSR2))})
        status = pathlib.Path(f"/proc/{target.pid}/status")

        def caught(number):
            line = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
            return int(line.split()[1], 16) >> number - 1 & 1 == 1

        path = self.folder / "chosen.swipr"
        recording = self.start_swipr("record", "--pid", target.pid, "--rate", 1000, "--count", 500, "-o", path)
        deadline.wait_until(lambda: caught(signal.SIGUSR2), "swipr's handler")
        self.assertFalse(caught(signal.SIGURG))
        self.assertEqual(recording.wait().code, 0)
        self.assertFalse(caught(signal.SIGUSR2))
        (source,) = raw.read(path.read_bytes()).values()
        self.assertGreater(source.totals["signals_sent"], 0)

    def test_setuid_is_answered_by_all_threads(self):
        self.check("set user")


if __name__ == "__main__":
    unittest.main()
