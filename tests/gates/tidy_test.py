#!/usr/bin/env python3
"""scripts/tidy accepts clean code, rejects its canaries, and caches clean results only."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support import sampling  # noqa: E402

CLEAN = "int add(int left, int right) { return left + right; }\n"
# code, the check that has to find it
CANARIES = [
    ("#include <string>\n#include <utility>\n"
     "std::size_t after(std::string text) {\n"
     "  const std::string taken = std::move(text);\n  return text.size() + taken.size();\n}\n",
     "bugprone-use-after-move"),
    ("#include <string>\nbool empty(const std::string& text) { return text.size() == 0; }\n",
     "readability-container-size-empty"),
    ("#include <string>\n#include <vector>\n"
     "std::size_t all(const std::vector<std::string>& texts) {\n"
     "  std::size_t sum = 0;\n  for (const std::string text : texts) sum += text.size();\n"
     "  return sum;\n}\n",
     "performance-for-range-copy"),
]


class Tree:
    """A root with one source file and its compile command."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        (self.root / "common").mkdir()
        (self.root / "build/release").mkdir(parents=True)
        (self.root / "build/release/compile_commands.json").write_text(json.dumps([{
            "directory": f"{self.root}/build/release", "file": f"{self.root}/common/file.cc",
            "command": f"c++ -std=c++20 -c {self.root}/common/file.cc"}]))

    def verdict(self, text):
        (self.root / "common/file.cc").write_text(text)
        return subprocess.run([ROOT / "scripts/tidy", "--all", "--root", self.root],
                              capture_output=True, text=True)


class TidyGate(unittest.TestCase):
    def test_accepts_clean_code(self):
        with tempfile.TemporaryDirectory() as folder:
            result = Tree(folder).verdict(CLEAN)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_rejects_every_canary_each_time(self):
        for code, check in CANARIES:
            with self.subTest(check=check), tempfile.TemporaryDirectory() as folder:
                tree = Tree(folder)
                tree.verdict(CLEAN)
                for _ in range(2):
                    result = tree.verdict(code)
                    self.assertEqual(result.returncode, 1)
                    self.assertIn(check, result.stdout)

    def test_rejects_a_tree_without_code(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(subprocess.run([ROOT / "scripts/tidy", "--root", folder],
                                            capture_output=True).returncode, 1)


class Sampling(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.environ.__setitem__, sampling.VARIABLE,
                        os.environ.get(sampling.VARIABLE, ""))

    def draw(self, seed, cases, one_in):
        os.environ[sampling.VARIABLE] = str(seed)
        return sampling.draw(cases, one_in)

    def test_sees_every_case_over_a_hundred_seeds(self):
        cases = [f"case {number}" for number in range(100)]
        drawn = [self.draw(seed, cases, 8) for seed in range(100)]
        self.assertEqual(set().union(*drawn), set(cases))
        self.assertLess(max(map(len, drawn)), 40)
        self.assertEqual(drawn[7], self.draw(7, cases, 8))

    def test_draws_one_case_at_least(self):
        self.assertTrue(all(len(self.draw(seed, "abc", 1000)) == 1 for seed in range(50)))


if __name__ == "__main__":
    unittest.main()
