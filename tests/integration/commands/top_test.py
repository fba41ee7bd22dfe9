"""swipr top: what a running program does, as text and on a terminal (tmux)."""

import os
import pathlib
import subprocess
import unittest

from support import deadline
from support.case import SwiprCase


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
        self.assertRegex(out.splitlines()[1], r"deadlock: worker-1 \d+ waits for the mutex in want_next, held by worker-2")
        self.assertRegex(out, r"deadlock: worker-2 \d+ waits for worker-1 \d+")
        target.end()

    def test_wrong_use(self):
        self.assertIn("either --pid N or --name", self.swipr("top", expect=2).err)
        self.assertIn("between 1s and 60s", self.swipr("top", "--pid", 1, "--window", "2min", expect=2).err)
        self.assertIn("no process is named", self.swipr("top", "--name", "no-such-name", expect=1).err)

    def test_terminal(self):
        target = self.start_burning()
        self.addCleanup(lambda: subprocess.run(["tmux", "-L", f"swipr-{os.getpid()}", "kill-server"],
                                               capture_output=True))
        self.tmux("new-session", "-d", "-x", "120", "-y", "40", "-c", str(self.folder),
                  f"{self.program} top --pid {target.pid} --window 5s; sleep 60")
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


if __name__ == "__main__":
    unittest.main()
