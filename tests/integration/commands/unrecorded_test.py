"""Descendants of a command that cannot be recorded are reported with the reason, and so is CPU time that
is in no sample."""

import os
import re
import shutil
import subprocess
import unittest

from support import sampling
from support.case import NOBODY, SwiprCase

# Works for 0.6 s of CPU time, as burn does.
SOURCE = """
#include <time.h>
int main(void) {
  while (clock() < CLOCKS_PER_SEC * 6 / 10) {
  }
  return 0;
}
"""
is_root = os.geteuid() == 0


def may_run(*command):
    return subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


@sampling.sampled
class UnrecordedTest(SwiprCase):
    def check(self, command, *expected, missing=True):
        """The messages of record and of report. The program is not the command itself, but its child."""
        path = self.folder / "unrecorded.swipr"
        script = " ".join(map(str, command))
        finished = self.swipr("record", "--interval", "5ms", "-o", path, "--", "sh", "-c", f"{script}; true")
        messages = (*expected, r"of the command's .* of CPU time \(\d+ %\) are in no sample") if missing else expected
        for pattern in messages:
            self.assertRegex(finished.err, pattern)
            self.assertRegex(self.swipr("report", path).err, pattern)
        return finished.err, self.swipr("report", path).err

    def test_static_programs(self):
        self.check((self.target_path("burn_static"), 600),
                   r"not recorded: burn_static \(process \d+, with .* of CPU time.*\): is statically linked")

    def test_programs_without_the_environment(self):
        self.check(("env", "-i", self.target_path("burn_nofp"), 600),
                   r"not recorded: burn_nofp \(.*\): was started without the environment of the command")

    @unittest.skipUnless(is_root, "only root makes programs setuid for another user")
    def test_setuid_programs(self):
        program = self.folder / "setuid"
        shutil.copy(self.target_path("burn_nofp"), program)
        os.chown(program, NOBODY, NOBODY)
        program.chmod(0o4755)
        self.check((program, 600), r"not recorded: setuid \(.*\): is setuid, setgid or has file capabilities")

    @unittest.skipUnless(is_root, "only root makes programs setuid for another user")
    def test_setuid_programs_that_proc_hides(self):
        """Neither the file nor the environment of a process of another user can be read."""
        program = self.folder / "setuid"
        shutil.copy(self.target_path("burn_nofp"), program)
        program.chmod(0o4755)
        path = self.folder / "by-nobody" / "unrecorded.swipr"
        path.parent.mkdir()
        self.folder.chmod(0o755)
        products = [shutil.copy(product, path.parent) for product in (self.program, self.preload)]
        for file in (path.parent, self.sockets):
            os.chown(file, NOBODY, NOBODY)
        finished = self.start(
            "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", products[0], "record", "-o", path, "--",
            "sh", "-c", f"{program} 600; true", env={"SWIPR_PRELOAD": products[1], "TMPDIR": str(path.parent)},
        ).end()
        self.assertEqual(finished.code, 0, repr(finished))
        self.assertRegex(finished.err, r"not recorded: setuid \(.*\): runs as another user \(setuid, setgid or file capabilities\)")

    @unittest.skipUnless(is_root, "only root changes its root directory")
    def test_programs_in_another_root_directory(self):
        root = self.folder / "root"
        program = self.target_path("burn_nofp")
        libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout)
        self.assertTrue(libraries)
        for file in (*libraries, program):
            place = root / str(file).lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        self.check(("chroot", root, program, 600),
                   r"not recorded: burn_nofp \(.*\): runs in another root directory \(chroot or container\)")

    @unittest.skipUnless(may_run("unshare", "--pid", "--fork"), "only root makes namespaces, and not in every container")
    def test_programs_that_proc_does_not_show(self):
        """They connect, but have no thread that could be sampled: their recording says so."""
        reason = "/proc shows no thread of this process, as it belongs to another PID namespace"
        said, _ = self.check(("unshare", "--pid", "--fork", self.target_path("burn_nofp"), 600), reason)
        self.assertRegex(said, rf"\(\d+\)( and 1 more)?: {reason}")

    def test_programs_that_end_before_they_are_found(self):
        """A hundred of 6 ms each: none is seen in /proc, or few are."""
        self.check(("for i in $(seq 100); do", self.target_path("burn_static"), "6; done"))

    def test_a_command_that_is_recorded_whole_lacks_nothing(self):
        for said in self.check((self.target_path("burn_nofp"), 600), missing=False):
            self.assertNotIn("not recorded", said)
            self.assertNotIn("in no sample", said)


if __name__ == "__main__":
    unittest.main()
