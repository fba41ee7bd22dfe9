"""Programs in Go, by each Go on this machine: that of the path, and those that SWIPR_GOS names."""

import os
import shutil
import subprocess

from support.case import SwiprCase


def compilers():
    found = [shutil.which("go"), *os.environ.get("SWIPR_GOS", "").split(":")]
    return list(dict.fromkeys(os.path.realpath(path) for path in found if path))


class GoCase(SwiprCase):
    """`source`: a program that prints what its functions used when its input ends. `flags`: of go build."""

    source = None
    flags = ()

    def record_program(self, go, mode):
        """(recording, what the functions used)"""
        shutil.copy(self.source, self.folder)
        self.folder.joinpath("go.mod").write_text("module program\ngo 1.19\n")
        program = self.folder / "program"
        subprocess.run([go, "build", f"-buildmode={mode}", *self.flags, "-o", program, "."], cwd=self.folder, check=True,
                       env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "1"})
        running = self.start(program, preloaded=True)
        running.wait_ready()
        self.wait_for_socket(running.pid)
        recording = self.record(running.pid, "--count", 1500, "--interval", "2ms")
        finished = running.end()
        self.assertEqual(finished.code, 0, finished)
        return recording, list(map(float, finished.out.split()))

    def for_each(self, check):
        self.assertTrue(compilers(), "no Go on this machine")
        for go in compilers():
            for mode in ("exe", "pie"):
                with self.subTest(go=go, mode=mode):
                    check(*self.record_program(go, mode))
