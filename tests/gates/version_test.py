#!/usr/bin/env python3
"""cmake/version.cmake writes commit and build type, and updates its output only if they change."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake/version.cmake"
GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@swipr.invalid", "-c", "commit.gpgsign=false"]


class VersionScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name).resolve() / "source"
        self.source.mkdir()
        self.output = self.source.parent / "version.cc"

    def git(self, *arguments):
        return subprocess.run([*GIT, "-C", self.source, *arguments], check=True, capture_output=True,
                              text=True).stdout.strip()

    def commit(self, text):
        (self.source / "file").write_text(text)
        self.git("add", "file")
        self.git("commit", "-q", "-m", text)
        return self.git("rev-parse", "HEAD")[:12]

    def version(self, source=None):
        subprocess.run(["cmake", f"-DSOURCE={source or self.source}", "-DVERSION=1.2.3", "-DBUILD_TYPE=Debug",
                        f"-DOUTPUT={self.output}", "-P", SCRIPT], check=True)
        return self.output.read_text().split('"')[3]

    def test_unknown_without_git(self):
        self.assertEqual(self.version(), "1.2.3 (commit unknown, build type Debug)")

    def test_unknown_in_a_folder_of_another_repository(self):
        self.git("init", "-q")
        self.commit("one")
        folder = self.source / "vendored"
        folder.mkdir()
        self.assertEqual(self.version(folder), "1.2.3 (commit unknown, build type Debug)")

    def test_names_the_commit_and_local_changes(self):
        self.git("init", "-q")
        self.assertIn(f"commit {self.commit('one')},", self.version())
        self.assertIn(f"commit {self.commit('two')},", self.version())
        (self.source / "file").write_text("three")
        self.assertIn("-dirty,", self.version())

    def test_output_is_left_alone_when_nothing_has_changed(self):
        self.git("init", "-q")
        self.commit("one")
        self.version()
        before = self.output.stat().st_mtime_ns
        self.version()
        self.assertEqual(self.output.stat().st_mtime_ns, before)
        self.commit("two")
        self.version()
        self.assertNotEqual(self.output.stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main()
