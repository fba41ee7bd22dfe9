"""examples/labels.*: programs in Python, Rust and Go whose threads have labels."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from support import sampling
from support.case import SwiprCase

ROOT = pathlib.Path(__file__).parents[3]


@sampling.sampled
class LabelExamplesTest(SwiprCase):
    def check(self, *command):
        path = self.folder / "labels.swipr"
        self.assertIn(b"labelled", self.swipr("record", "-o", path, "--interval", "2ms", "--", *command).out)
        labels = json.loads(self.swipr("report", path, "--json").out)["labels"]
        used = {each["value"]: each["cpu_ns"] for each in labels if each["key"] == "share" and each["value"]}
        self.assertEqual(set(used), {"seventy", "twenty", "ten"})
        for value, per_cent in {"seventy": 70, "twenty": 20, "ten": 10}.items():
            self.assertAlmostEqual(100 * used[value] / sum(used.values()), per_cent, delta=8, msg=used)
        plain = subprocess.run(command, capture_output=True, check=True)
        self.assertEqual(plain.stdout, b"not started with the preload\n")

    def test_python(self):
        self.check(sys.executable, ROOT / "examples/labels.py")

    @unittest.skipUnless(shutil.which("rustc"), "no Rust on this machine")
    def test_rust(self):
        program = self.folder / "labels"
        subprocess.run(["rustc", "-O", "-g", "-o", program, ROOT / "examples/labels.rs"], check=True)
        self.check(program)

    @unittest.skipUnless(shutil.which("go"), "no Go on this machine")
    def test_go(self):
        program = self.folder / "labels"
        environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GO111MODULE": "off", "CGO_ENABLED": "1",
                       "CGO_CFLAGS": f"-O2 -I{ROOT}/include"}
        subprocess.run(["go", "build", "-o", program, ROOT / "examples/labels.go"], check=True, env=environment, cwd=self.folder)
        self.check(program)


if __name__ == "__main__":
    unittest.main()
