"""Functions that V8 has inlined, and lines of optimized code, in the node of this machine and in those that SWIPR_NODES
names (separated by colons)."""

import os
import re
import shutil
import unittest

from support import profiles
from support.case import SwiprCase

# All of this becomes one piece of code, which is entered in the middle of a loop.
INLINED = """
let sink = 0;
function leaf(x) {
  return (x * 31 + 7) % 65521;
}
function middle(n) {
  let sum = 0;
  for (let i = 0; i < n; i++)
    sum = leaf(sum);
  return sum;
}
function outer(n) {
  return middle(n) + 1;
}
function main() {
  const end = Date.now() + 2500;
  while (Date.now() < end)
    sink += outer(3000);
}
console.log('ready');
main();
"""
CHAIN = ["main", "outer", "middle", "leaf"]


class InlinedTest(SwiprCase):
    def test_inlined_functions(self):
        found = [shutil.which("node"), *os.environ.get("SWIPR_NODES", "").split(":")]
        self.assertTrue(found[0], "no node on this machine")
        for path in dict.fromkeys(os.path.realpath(path) for path in found if path):
            with self.subTest(node=path):
                self.check_inlined(path)

    def check_inlined(self, path):
        source = self.folder / "inlined.js"
        source.write_text(INLINED)
        program = self.start(path, source, preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        recording = self.record(program.pid, "--count", 400, "--interval", "4ms")
        self.assertEqual(program.end().code, 0)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        own = [([f.split(" ")[0] for f in s.frames if f.endswith("(inlined.js)") and not f.startswith("(")], s.weight)
               for s in stacks if "main (inlined.js)" in s.frames]
        whole = sum(weight for _, weight in own)
        self.assertGreater(whole, 0.7 * profiles.total(stacks))
        # What is compiled first has to begin in the interpreter.
        complete = sum(weight for names, weight in own if names in (CHAIN, CHAIN[:-1]))
        self.assertGreater(complete, 0.9 * whole, own)
        in_leaf = sum(weight for names, weight in own if names == CHAIN)
        self.assertGreater(in_leaf, 0.5 * whole, own)
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--frames", "language").out.decode()
        lines = dict.fromkeys(CHAIN, ())
        for name, line in re.findall(r"\t +0 (\w+) \(\S*inlined\.js\)\n  \S*inlined\.js:(\d+)$", text, re.M):
            if name in lines:
                lines[name] += (int(line),)
        true_lines = {"main": 18, "outer": 13, "middle": 9, "leaf": 4}
        for name, line in true_lines.items():
            # Others are in the head of the loop: a quarter in middle, where four standard errors are 9 points.
            self.assertGreater(lines[name].count(line), 0.6 * len(lines[name]), (name, lines))


if __name__ == "__main__":
    unittest.main()
