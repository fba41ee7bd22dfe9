"""A program that gave up its privileges hides where its threads wait from its own process. It is
recorded all the same, and no call of it is broken for that."""

import re
import unittest

from support import deadline
from support.case import SwiprCase


class PrivilegesCase(SwiprCase):
    def check_waits(self, how="drop"):
        target = self.start_target("privileges_nofp")
        self.wait_for_socket(target.pid)
        target.send(f"{how}\n")
        self.assertEqual(target.read_line(), "dropped")
        path = self.folder / "privileges.swipr"
        recording = self.start_swipr("record", "--pid", target.pid, "--interval", "2ms", "-o", path)
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

    def test_after_capset(self):
        self.check_waits("capset")


class ConfinedPrivilegesTest(PrivilegesCase):
    confined = True

    def test_when_not_dumpable(self):
        self.check_waits()


if __name__ == "__main__":
    unittest.main()
