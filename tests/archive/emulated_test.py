#!/usr/bin/env python3
"""The archive for aarch64 in an emulated machine (scripts/emulate), and recordings converted on the other machine.

usage: PYTHONPATH=tests tests/archive/emulated_test.py
Needs what scripts/emulate needs, scripts/release --arch aarch64, and the targets of the release build. Takes two minutes.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from support import profiles

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHIVES = pathlib.Path(os.environ.get("SWIPR_ARCHIVES", ROOT / "build/archive-aarch64"))
SWIPR = pathlib.Path(os.environ.get("SWIPR", ROOT / "build/release/cli/swipr"))
TARGETS = pathlib.Path(os.environ.get("SWIPR_TARGETS", ROOT / "build/release/tests/targets"))
EMULATED = ROOT / "build/emulated"
OUT = EMULATED / "out"


def run(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout


def archive():
    (path,) = ARCHIVES.glob("*-linux-aarch64.tar.gz")
    return path


def make_payload(folder):
    """The archive, a recording of this machine, and the files that name its functions."""
    program = TARGETS / "burn_nofp"
    run(SWIPR, "record", "--interval", "5ms", "-o", folder / "x86_64.swipr", "--", program, 500)
    shutil.copy(archive(), folder)
    for copy in (folder / f"symfs{program}", folder / "symfs/program"):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program, copy)


def said(name):
    return (OUT / name).read_text(errors="replace")


class EmulatedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="swipr-emulated-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        (cls.folder / "root/payload").mkdir(parents=True)
        make_payload(cls.folder / "root/payload")
        script = pathlib.Path(__file__).parent / "emulated_commands"
        print(run(ROOT / "scripts/emulate", script, cls.folder / "root").decode(), end="")

    def check(self, name, code=0):
        self.assertEqual((said(f"{name}.code").strip(), name), (str(code), name), said(f"{name}.err"))
        return said(name)

    def check_refusal(self, name, words, code=1):
        self.check(name, code)
        self.assertRegex(said(f"{name}.err"), words)
        self.assertEqual(said(f"{name}.err").count("\n"), 1)

    def check_shares(self, collapsed):
        """How large they are depends on what else the emulating machine does."""
        stacks = profiles.parse_collapsed(collapsed)
        for name in ("seventy_percent", "twenty_percent", "ten_percent"):
            self.assertGreater(profiles.share(stacks, name, {"share worker 1", "share worker 2"}), 0)

    def test_installed(self):
        self.assertIn("preload: /usr/local/lib/libswipr_preload.so", self.check("install"))
        self.assertRegex(self.check("version"), r"^swipr \d")
        self.assertNotIn("FAIL", self.check("doctor"))
        self.assertIn("aarch64", said("doctor"))
        self.assertIn("`sleep 0.3` recorded", said("doctor"))

    def test_records_a_command(self):
        self.check("shares")
        self.assertIn("seventy_percent", self.check("report"))
        rooted = re.search(r"reach the root ([\d.]+) %", said("report") + said("report.err"))
        self.assertGreaterEqual(float(rooted[1]), 99.5)
        self.check_shares((OUT / "collapsed").read_bytes())

    def test_names_have_files_and_lines(self):
        self.check("pprof")
        self.assertIn(b"tests/targets/times/shares.cc", gzip.decompress((OUT / "pprof").read_bytes()))
        self.assertRegex(self.check("explain"), r"shares_nofp\n  .*\n  .*\n  names from DWARF.*\n  .*, [1-9]\d* with a line")

    def test_records_a_process(self):
        self.assertIn("blocked_nofp", self.check("list"))
        self.check("pid")
        self.assertRegex(self.check("waits"), r" futex \(")

    def test_traces_a_function(self):
        self.assertIn("main (blocked_nofp): 0 calls in ", self.check("latency"))

    def test_refuses_what_it_cannot_do(self):
        self.check_refusal("foreign_program", "is built for another architecture")
        self.check_refusal("compare", "unwinders are compared on x86-64 only")

    def test_recording_of_aarch64_is_converted_here(self):
        symfs = self.folder / "symfs"
        with tarfile.open(archive()) as files:
            files.extractall(self.folder)
        installed = self.folder / archive().name.removesuffix(".tar.gz")
        for path in re.findall(r"^  file +/(\S+)$", said("explain"), re.MULTILINE):
            places = (EMULATED / "overlay" / path, EMULATED / "root" / path, installed / path.removeprefix("usr/local/"))
            (symfs / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(next(place for place in places if place.exists()), symfs / path)
        symbols = "usr/lib/debug/.build-id"
        shutil.copytree(EMULATED / "root" / symbols, symfs / symbols)
        collapsed = run(SWIPR, "convert", "--format", "collapsed", "--symfs", symfs, OUT / "shares.swipr", "-o", "-")
        self.check_shares(collapsed)
        self.assertEqual(collapsed.decode(), said("collapsed"))
        waits = run(SWIPR, "report", "--symfs", symfs, OUT / "blocked.swipr").decode()
        self.assertRegex(waits, r" futex \(")

    def test_recording_of_x86_64_is_converted_there(self):
        stacks = profiles.parse_collapsed(self.check("foreign").encode())
        self.assertGreater(profiles.share(stacks, "burn_hot"), 50)
        self.assertRegex(self.check("foreign_explain"), r"burn_nofp\n  .*\n  .*\n  names from DWARF.*\n  .*, [1-9]\d* with a line")


if __name__ == "__main__":
    unittest.main()
