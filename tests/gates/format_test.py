#!/usr/bin/env python3
"""The gate scripts/check_format accepts the repository's style and rejects other styles."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(text):
    """The gate's result for a tree of one file; None: without files."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        if text is not None:
            (pathlib.Path(folder) / "file.cc").write_text(text)
            subprocess.run(["git", "-C", folder, "add", "file.cc"], check=True)
        return subprocess.run([ROOT / "scripts/check_format", folder], capture_output=True, text=True)


class FormatGate(unittest.TestCase):
    def test_accepts_the_style(self):
        self.assertEqual(check("int main() { return 0; }\n").returncode, 0)

    def test_rejects_another_style(self):
        result = check("int main()\n{\n    return 0;\n}\n")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("file.cc:1", result.stderr)

    def test_rejects_an_empty_tree(self):
        self.assertEqual(check(None).returncode, 1)


if __name__ == "__main__":
    unittest.main()
