"""JIT-compiled code is named by the perf map or jitdump of its compiler."""

import os
import pathlib
import re
import unittest

from support import deadline, profiles, raw
from support.case import NOBODY, SwiprCase

SCRIPT = """
function generatedHot(n) { let sum = 0; for (let i = 0; i < n; ++i) sum = (sum * 31 + i) | 0; return sum; }
function callsHot() { let all = 0; for (let i = 0; i < 50; ++i) all ^= generatedHot(20000); return all; }
let sink = 0, ended = false;
const wanted = Number(process.argv[2] || 0);
if (!wanted) process.stdin.on('end', () => { ended = true; }).resume();
let turns = 0;
function turn() {
  sink ^= callsHot();
  if (++turns == wanted) ended = true;
  if (turns == 20) console.log('ready');
  if (!ended) setImmediate(turn);
}
turn();
"""


NATIVE = {"SWIPR_RUNTIMES": "0"}  # else swipr reads the names of functions itself


class NodeTest(SwiprCase):
    def record_node(self, *flags):
        """Baseline code for all functions at once, so that the test does not depend on when V8 optimizes."""
        script = self.folder / "loop.js"
        script.write_text(SCRIPT)
        program = self.start("node", "--always-sparkplug", "--no-turbo-inlining", *flags, script, preloaded=True,
                             env=NATIVE)
        self.addCleanup(pathlib.Path(f"/tmp/perf-{program.pid}.map").unlink, missing_ok=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        path = self.record(program.pid, "--count", 500, "--interval", "2ms")
        self.assertEqual(program.end().code, 0)
        return path

    def check_names(self, path):
        """Caller and callee, one below the other, in every format."""
        caller, callee = (re.compile(rf"^(JS|LazyCompile|Function):[*^~]?{name} ") for name in ("callsHot", "generatedHot"))
        for fmt in ("collapsed", "perf", "pprof"):
            stacks = self.convert(path, fmt)
            found = any(
                caller.match(outer) and callee.match(inner)
                for stack in stacks
                for outer, inner in zip(stack.frames, stack.frames[1:])
            )
            with self.subTest(format=fmt):
                self.assertTrue(found, {f for s in stacks for f in s.frames if "Hot" in f})

    def test_names_of_the_perf_map(self):
        self.check_names(self.record_node("--perf-basic-prof"))

    def test_names_of_the_jitdump(self):
        path = self.record_node("--perf-prof")  # writes into its folder
        self.check_names(path)

    def test_names_that_the_recording_carries(self):
        """V8 buffers 2 MB of its dump until it ends; names are embedded after that."""
        script = self.folder / "loop.js"
        script.write_text(SCRIPT)
        path = self.folder / "carries.swipr"
        self.swipr("record", "--embed-symbols", "--interval", "2ms", "-o", path, "--",
                   "node", "--always-sparkplug", "--no-turbo-inlining", "--perf-prof", script, 300, env=NATIVE)
        dumps = list(self.folder.glob("jit-*.dump"))
        self.assertTrue(dumps)
        for dump in dumps:
            dump.unlink()
        self.check_names(path)

    def test_addresses_where_nothing_is_written(self):
        path = self.record_node()
        self.assertFalse(profiles.has_function(self.convert(path, "collapsed"), "generatedHot"))


@unittest.skipUnless(os.geteuid() == 0, "only root starts programs of other users and reads everybody's files")
class OwnerTest(SwiprCase):
    """Root believes the perf map of root or of the user of the recorded process, whoever made the recording."""

    OTHER = NOBODY - 1

    def setUp(self):
        super().setUp()
        self._stage_for_nobody()
        self._as_nobody, self._launcher = self._launcher, []

    def start_program(self, env=None):
        """Runs in generated code, as nobody."""
        launch = (*self._as_nobody, "/usr/bin/env", f"LD_PRELOAD={self.preload}")
        program = self.start(*launch, self.folder / "stage/stack_code_nofp", "generated", "busy", "", env=env)
        self.addCleanup(pathlib.Path(f"/tmp/perf-{program.pid}.map").unlink, missing_ok=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        return program

    def check_owners(self, path, program):
        """The program has ended: /proc says no longer whose it was."""
        map_file = pathlib.Path(f"/tmp/perf-{program.pid}.map")
        map_file.write_text("1000 fffffffff000 planted\n")
        for owner, is_believed in ((0, True), (NOBODY, True), (self.OTHER, False)):
            os.chown(map_file, owner, owner)
            with self.subTest(owner=owner):
                finished = self.swipr("convert", path, "--format", "collapsed")
                self.assertEqual("planted" in finished.out.decode(), is_believed)
                self.assertEqual(f"{map_file} is ignored: it is owned by user {owner}" in finished.err, not is_believed,
                                 finished.err)

    def test_recording_that_the_program_wrote(self):
        path = self.folder / "own.swipr"
        program = self.start_program({"SWIPR_RECORD": str(path), "SWIPR_RECORD_INTERVAL": "2ms"})
        # A slow machine spends the first ones while it loads the program.
        deadline.wait_until(lambda: raw.tick_count(path.read_bytes()) >= 20, "20 ticks in the file")
        self.assertEqual(program.end().code, 0)
        self.check_owners(path, program)

    def test_recording_of_an_http_client(self):
        program = self.start_program()
        path = self.folder / "curl.swipr"
        fetch = self.start("curl", "-sS", "-o", path, "--unix-socket", self.socket_of(program.pid),
                           "-d", '{"numberOfSamples":50,"timeInterval":"2 ms"}', "http://localhost/v1/record")
        self.assertEqual(fetch.wait().code, 0)
        self.assertEqual(program.end().code, 0)
        self.check_owners(path, program)

    def test_recording_of_swipr(self):
        program = self.start_program()
        path = self.record(program.pid, "--count", 50, "--interval", "2ms")
        self.assertEqual(program.end().code, 0)
        self.check_owners(path, program)


if __name__ == "__main__":
    unittest.main()
