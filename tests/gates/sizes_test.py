#!/usr/bin/env python3
"""The gate scripts/check_sizes accepts the repository and rejects long files and full folders."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(root):
    return subprocess.run([ROOT / "scripts/check_sizes", root], capture_output=True, text=True)


class SizesGate(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)

    def write(self, name, text="\n"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assert_refused(self, complaint):
        result = check(self.root)
        self.assertEqual(result.returncode, 1)
        self.assertIn(complaint, result.stdout)

    def test_accepts_the_repository(self):
        result = check(ROOT)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_rejects_long_files(self):
        for name in ("cli/bad.cc", "tests/bad_test.py", "cli/export/web/bad.js"):
            with self.subTest(name):
                self.write(name, "//\n" * 401)
                self.assert_refused(f"{name}: 401 lines")
        self.write("scripts/bad", "#!/bin/sh\n" + ":\n" * 400)
        self.assert_refused("scripts/bad: 401 lines")

    def test_takes_a_reason(self):
        self.write("cli/good.cc", "// Longer than other files: a reason.\n" + "//\n" * 400)
        self.assertEqual(check(self.root).returncode, 0)
        self.write("cli/good.cc", "//\n" * 400 + "// Longer than other files: too late.\n")
        self.assert_refused("401 lines")

    def test_rejects_full_folders(self):
        for number in range(25):
            self.write(f"preload/room/file{number}.cc")
        self.assertEqual(check(self.root).returncode, 0)
        self.write("preload/room/file25.cc")
        self.assert_refused("preload/room: 26 source files")

    def test_rejects_an_empty_tree(self):
        self.assert_refused("no source files found")


if __name__ == "__main__":
    unittest.main()
