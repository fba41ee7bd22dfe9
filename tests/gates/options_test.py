#!/usr/bin/env python3
"""The gate scripts/check_options accepts the repository and rejects every canary."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWIPR = pathlib.Path(sys.argv.pop())

# file, a text in it, its replacement, expected message of the gate
CANARIES = [
    ("docs/man/swipr-record.1", ".It Fl Fl count Ar N", ".It Ar N", "record: --count is missing in the man page"),
    ("docs/man/swipr-list.1", ".It Fl Fl json", ".It Fl Fl absent\n.It Fl Fl json",
     "list: the man page has --absent, which does not exist"),
    ("cli/completion/swipr.bash", "--embed-symbols", "", "record: --embed-symbols is missing in bash"),
    ("cli/completion/swipr.bash", "list) words='--json", "list) words='--absent --json",
     "list: bash has --absent, which does not exist"),
    ("cli/completion/_swipr", "'--no-browser[only", "'[only", "view: --no-browser is missing in zsh"),
    ("cli/completion/swipr.fish", "-l explain", "", "convert: --explain is missing in fish"),
    ("cli/completion/swipr.fish", "-l top ", "-l top -l absent ", "report: fish has --absent, which does not exist"),
]


def check(root):
    return subprocess.run([ROOT / "scripts/check_options", SWIPR, root], capture_output=True, text=True)


class OptionsGate(unittest.TestCase):
    def copy_texts(self, folder):
        for texts in ("docs/man", "cli/completion"):
            shutil.copytree(ROOT / texts, pathlib.Path(folder) / texts)

    def test_accepts_the_repository(self):
        result = check(ROOT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_rejects_every_canary(self):
        for file, text, replacement, complaint in CANARIES:
            with self.subTest(file=file, text=text), tempfile.TemporaryDirectory() as folder:
                self.copy_texts(folder)
                path = pathlib.Path(folder) / file
                before = path.read_text()
                self.assertIn(text, before)
                path.write_text(before.replace(text, replacement))
                result = check(folder)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(complaint, result.stdout)

    def test_fish_completes(self):
        for line, word in (("swipr ", "record"), ("swipr record --mo", "--mode"), ("swipr record --mode ", "offcpu"),
                           ("swipr convert --ex", "--explain"), ("swipr record -- --ver", None)):
            with self.subTest(line=line):
                script = f"source {ROOT}/cli/completion/swipr.fish; complete -C '{line}'"
                result = subprocess.run(["fish", "--no-config", "-c", script], check=True, capture_output=True, text=True)
                self.assertEqual(result.stderr, "")
                words = [entry.split("\t")[0] for entry in result.stdout.splitlines()]
                if word is None:
                    self.assertNotIn("--version", words)  # the command behind "--" has options of its own
                else:
                    self.assertIn(word, words)

    def test_rejects_a_missing_page(self):
        with tempfile.TemporaryDirectory() as folder:
            self.copy_texts(folder)
            (pathlib.Path(folder) / "docs/man/swipr-view.1").unlink()
            self.assertIn("view: no man page", check(folder).stdout)


if __name__ == "__main__":
    unittest.main()
