"""swipr top: what a running program does, as text and on a terminal (tmux)."""

import os
import pathlib
import re
import subprocess
import unittest

from support import deadline, sampling, tracing
from support.case import SwiprCase


@sampling.sampled
class TopTest(SwiprCase):
    def tmux(self, *arguments):
        environment = dict(self.environment(), TERM="screen", LC_ALL="C.UTF-8")
        environment.pop("TMUX", None)
        return subprocess.run(["tmux", "-L", f"swipr-{os.getpid()}", "-f", "/dev/null", *arguments],
                              env=environment, check=True, capture_output=True, text=True).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, *parts):
        """The screen as soon as it has all of these."""
        seen = [""]

        def is_there():
            seen[0] = self.screen()
            return all(part in seen[0] for part in parts)

        try:
            deadline.wait_until(is_there, f"{parts} on the screen")
        except deadline.DeadlineExceeded as error:
            raise AssertionError(f"{error}\n{seen[0]}") from None
        return seen[0]

    def start_top(self, pid, *options):
        self.addCleanup(lambda: subprocess.run(["tmux", "-L", f"swipr-{os.getpid()}", "kill-server"],
                                               capture_output=True))
        command = " ".join([str(self.program), "top", "--pid", str(pid), *options])
        self.tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", str(self.folder), f"{command}; sleep 60")

    def finish(self, target):
        target.process.kill()
        target.wait()

    def start_burning(self):
        target = self.start_target("burn_nofp", "600000", ready=False)
        self.wait_for_socket(target.pid)
        return target

    def test_one_frame_as_text(self):
        target = self.start_burning()
        out = self.swipr("top", "--pid", target.pid, "--once", "--window", "2s").out.decode()
        head, *rest = out.splitlines()
        self.assertRegex(head, rf"^burn_nofp {target.pid}  2 s  CPU [01]\.\d\d ")
        rows = [line.split() for line in rest]
        hottest = next(row for row in rows if row and "%" not in row[0] and row[0][0].isdigit())
        self.assertRegex(hottest[2], "burn_hot|churn")
        self.assertGreater(float(hottest[0]), 50)
        self.assertNotIn("\x1b", out)
        target.process.kill()
        target.wait()

    def test_deadlock(self):
        target = self.start_target("deadlock_nofp", "cycle", "2")
        out = self.swipr("top", "--pid", target.pid, "--once", "--window", "3s").out.decode()
        self.assertRegex(out.splitlines()[1], r"deadlock: worker-1 \d+ waits for the mutex .*::mutexes\+0x28 in want_next, held by w")
        self.assertRegex(out, r"deadlock: worker-2 \d+ waits for worker-1 \d+")
        target.end()

    def test_wrong_use(self):
        self.assertIn("either --pid N or --name", self.swipr("top", expect=2).err)
        self.assertIn("between 1s and 60s", self.swipr("top", "--pid", 1, "--window", "2min", expect=2).err)
        self.assertIn("no process is named", self.swipr("top", "--name", "no-such-name", expect=1).err)

    def test_terminal(self):
        target = self.start_burning()
        self.start_top(target.pid, "--window", "5s")
        screen = self.wait_for(f"burn_nofp {target.pid}", "burn_hot", "CALL TREE", "THREAD", "WHO HOLDS IT")
        self.assertRegex(screen, r"by CPU time")
        self.tmux("send-keys", "/", "hot", "Enter")
        screen = self.wait_for("filter: hot")
        self.tmux("send-keys", "Escape")
        self.tmux("send-keys", "w")
        self.wait_for("by wall time")
        self.tmux("send-keys", "b")
        self.wait_for("CHANGE", "baseline taken")
        self.tmux("send-keys", "p")
        self.wait_for("PAUSED")
        self.tmux("send-keys", "?")
        self.wait_for("next pane: functions, call tree, threads, locks")
        self.tmux("send-keys", "Escape", "p")
        self.tmux("resize-window", "-x", "80", "-y", "24")
        screen = self.wait_for("FUNCTION (by self)")
        deadline.wait_until(lambda: "CALL TREE" not in self.screen(), "one pane on a small terminal")
        self.tmux("send-keys", "Tab")
        self.wait_for("CALL TREE")
        self.tmux("send-keys", "S")
        self.wait_for("saved as burn_nofp")
        page, = pathlib.Path(self.folder).glob("burn_nofp*.html")
        self.assertIn("burn_hot", page.read_text())
        target.process.kill()
        target.wait()
        self.wait_for("the process has ended")
        self.tmux("send-keys", "q")
        deadline.wait_until(lambda: "swipr" not in self.tmux("list-panes", "-F", "#{pane_current_command}"), "its end")

    def test_traces_a_function(self):
        target = self.start_target("locked_calls_nofp")
        self.addCleanup(target.process.kill)
        target.send("serve 1000000\n")
        self.start_top(target.pid, "--window", "60s", "--weight", "wall")
        self.wait_for("handle_call", "want_cache")
        self.tmux("send-keys", "9")
        self.wait_for("t traces the chosen function first")
        self.tmux("send-keys", "/", "handle_call", "Enter", "t")
        self.wait_for("CALLS  handle_call")
        deadline.wait_until(lambda: re.search(r"handle_call  \d+/s  p50 [\d.]+ [um]s  p95 [\d.]+ [um]s  [▁-█]+",
                                              self.screen()), "figures of its calls")
        self.assertTrue(tracing.changed_code(target.pid))
        self.tmux("send-keys", "Escape", "/", "want_journal", "Enter", "9")
        self.wait_for("ONLY CALLS ABOVE P95")

        def total():
            found = re.search(r"(?m)^ +[\d.]+ +([\d.]+)  want_journal", self.screen())
            return float(found[1]) if found else 0

        # It takes 8 of 28 ms of one of three threads; in the calls that it makes slow, 8 of 10.
        deadline.wait_until(lambda: total() > 40, "time of want_journal() in slow calls")
        self.tmux("send-keys", "9")
        deadline.wait_until(lambda: 0 < total() < 30, "time of want_journal() in all calls")
        self.assertNotIn("ONLY CALLS", self.screen())
        self.tmux("resize-window", "-x", "80", "-y", "24")
        deadline.wait_until(lambda: "CALL TREE" not in self.screen(), "one pane on a small terminal")
        self.wait_for("CALLS  handle_call", "want_journal")
        self.tmux("send-keys", "t")
        self.wait_for("no function is traced any more")
        deadline.wait_until(lambda: not tracing.changed_code(target.pid), "the code of the file")
        # What cannot be traced says so, and its line can be removed.
        self.tmux("send-keys", "Escape", "Tab", "Tab", "t")
        self.wait_for("choose a function to trace")
        self.finish(target)

    def test_function_that_cannot_be_traced(self):
        target = self.start_burning()
        self.start_top(target.pid)
        self.wait_for("burn_hot")
        self.tmux("send-keys", "/", "_start", "Enter")
        self.wait_for("filter: _start", "__libc_start_main")
        self.tmux("send-keys", "j", "j", "t")  # behind __libc_start_call_main and __libc_start_main
        self.wait_for("is not traced, because")
        self.assertFalse(tracing.changed_code(target.pid))
        self.finish(target)


if __name__ == "__main__":
    unittest.main()
