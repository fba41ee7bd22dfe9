"""Frames of JavaScript in recordings: shares, chains, lines and waits of programs whose truth is known, in the node of
this machine, or of the root in SWIPR_TEST_ROOT, and in those that SWIPR_NODES names (separated by colons)."""

import json
import pathlib
import re
import subprocess
import unittest

from support import languages, profiles, root, sampling

OLDEST = 18

# The functions use 70, 20 and 10 % of the CPU time, and say so themselves.
SHARES = """
const used = {};
let ended = false;
function burn(name, milliseconds) {
  const begin = process.cpuUsage();
  let spent;
  do {
    let sum = 0;
    for (let i = 0; i < 30000; i++) sum += i * i % 7;
    const now = process.cpuUsage(begin);
    spent = now.user + now.system;
  } while (spent < milliseconds * 1000);
  used[name] = (used[name] || 0) + spent / 1e6;
}
function seventy() { burn('seventy', 7); }
function twenty() { burn('twenty', 2); }
function ten() { burn('ten', 1); }
function work() {
  seventy();
  twenty();
  ten();
  if (ended) console.log(used.seventy, used.twenty, used.ten);
  else setImmediate(work);
}
process.stdin.on('end', () => { ended = true; }).resume();
console.log('ready');
work();
"""

# Every function is called by one other: its name is that of its caller and one letter more. Calls are direct, through
# callbacks of built-in functions, generators, promises and exceptions; interpreted first, compiled later.
CHAINS = """
let seed = 14;
let ended = false;
const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) % 3;
const ways = [
  (f) => f(),
  (f) => [1].forEach(() => f()),
  (f) => [3, 1].sort((a, b) => { f(); return a - b; }),
  (f) => { for (const x of (function* () { yield f(); })()) x; },
  (f) => { try { f(); throw new Error('x'); } catch (e) { return e; } },
  (f) => 'ab'.replace(/a/, () => { f(); return 'c'; }),
];
let number = 0;
function make(name, depth) {
  const children = depth === 0 ? [] : ['a', 'b', 'c'].map((letter) => make(name + letter, depth - 1));
  const way = ways[number++ % ways.length];
  const body = depth === 0
    ? 'let s = 0; for (let i = 0; i < 3000; i++) s += i * i % 7; return s;'
    : 'return way(children[next()]);';
  return new Function('way', 'children', 'next', `return function ${name}() { ${body} }`)(way, children, next);
}
const r = make('r', 4);
function turn() {
  for (let i = 0; i < 20; i++) r();
  if (!ended) setImmediate(turn);
}
process.stdin.on('end', () => { ended = true; }).resume();
console.log('ready');
turn();
"""

# Garbage, and what V8 says of the time in which its collector stopped the program.
GARBAGE = """
const { PerformanceObserver } = require('perf_hooks');
let collecting = 0;
let begin = 0;
let ended = false;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) collecting += entry.duration;
}).observe({ entryTypes: ['gc'] });
const kept = [];
function allocate() {
  const made = [];
  for (let i = 0; i < 5000; i++) made.push({ i, text: 'k' + i, list: [i] });
  kept.push(made);
  if (kept.length > 50) kept.shift();
  if (ended) { setImmediate(() => console.log(collecting / (performance.now() - begin))); return; }
  setImmediate(allocate);
}
process.stdin.on('end', () => { ended = true; }).resume();
setTimeout(() => { collecting = 0; begin = performance.now(); console.log('ready'); }, 100);
allocate();
"""

# JavaScript calls an addon, which calls JavaScript. The declarations are those of js_native_api.h.
NATIVE = """
const callBack = require('./addon.node');
let ended = false;
let sink = 0;
function back() {
  for (let i = 0; i < 200000; i++) sink += i * i % 7;
}
function outer() {
  callBack(back);
}
function turn() {
  outer();
  if (!ended) setImmediate(turn);
}
process.stdin.on('end', () => { ended = true; }).resume();
console.log('ready');
turn();
"""
ADDON = """
#include <stddef.h>
typedef struct Env* napi_env;
typedef struct Value* napi_value;
typedef struct Info* napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
int napi_get_cb_info(napi_env, napi_callback_info, size_t*, napi_value*, napi_value*, void**);
int napi_call_function(napi_env, napi_value, napi_value, size_t, const napi_value*, napi_value*);
int napi_create_function(napi_env, const char*, size_t, napi_callback, void*, napi_value*);
__attribute__((noinline)) static void addon_middle(napi_env env, napi_value self, napi_value function) {
  napi_value result;
  napi_call_function(env, self, function, 0, NULL, &result);
  __asm__ volatile("");
}
static napi_value addon_outer(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value function = NULL, self = NULL;
  napi_get_cb_info(env, info, &count, &function, &self, NULL);
  addon_middle(env, self, function);
  __asm__ volatile("");
  return NULL;
}
napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  napi_value function = exports;
  napi_create_function(env, "callBack", (size_t)-1, addon_outer, NULL, &function);
  return function;
}
"""

# The main thread and a worker are blocked; the line says so.
WAITS = """
const { Worker, isMainThread } = require('worker_threads');
const cell = new Int32Array(new SharedArrayBuffer(4));
class Waiter {
  fall(n) {
    if (n > 0) return this.fall(n - 1);
    return Atomics.wait(cell, 0, 0, 1e6); // wait
  }
}
if (isMainThread) {
  new Worker(__filename).once('online', () => setTimeout(() => {
    console.log('ready');
    require('child_process').execSync('cat', { stdio: ['inherit', 'pipe', 'inherit'] }); // wait
    process.exit(0);
  }, 200));
} else {
  new Waiter().fall(50);
}
"""

# Functions, garbage, exceptions, deep recursion and workers that come and go.
STORM = """
const { Worker, isMainThread } = require('worker_threads');
let ended = false;
const deep = (n) => (n === 0 ? 0 : 1 + deep(n - 1));
function storm() {
  const made = new Function('x', `let s = 0; for (let i = 0; i < x; i++) s += i; return s + ${Math.random()};`);
  let kept = [];
  for (let i = 0; i < 3000; i++) kept.push({ i, text: 'k' + i, list: [i] });
  try { null.x; } catch (e) { kept.push(e.stack); }
  return made(200) + deep(300) + kept.length;
}
if (isMainThread) {
  process.stdin.on('end', () => { ended = true; }).resume();
  console.log('ready');
  const turn = () => {
    for (let i = 0; i < 5; i++) storm();
    if (ended) { console.log('whole'); process.exit(0); }
    setImmediate(turn);
  };
  const start = () => { if (!ended) new Worker(__filename).once('exit', start); };
  start();
  turn();
} else {
  for (let i = 0; i < 50; i++) storm();
}
"""


def programs():
    return languages.programs("node", "SWIPR_NODES")


def has_collector_names():
    """Debian's libnode of some releases, without debug information, has no names for what collects garbage."""
    if not root.current():
        return True
    libraries = pathlib.Path(root.current()).glob("usr/lib/*/libnode.so.*")
    return any(b"v8::internal::Heap::" in subprocess.run(["nm", "-DC", library], capture_output=True, check=True).stdout
               for library in libraries)


@sampling.sampled
class JavaScriptTest(languages.LanguageCase):
    def setUp(self):
        super().setUp()
        if root.current() and int(self.start("/usr/bin/node", "-p", "parseInt(process.versions.node)").wait().out) < OLDEST:
            self.skipTest("this node is older than those whose frames are read")

    def for_each_node(self, check, text, name):
        self.assertTrue(programs(), "no node on this machine")
        for path in programs():
            with self.subTest(node=path):
                check(path, self.source(text, f"{name}.js"))

    def test_shares(self):
        self.for_each_node(self.check_shares, SHARES, "shares")

    def check_shares(self, path, source):
        program = self.run_program(path, source)
        recording, times = self.record_shares(program)
        stacks = [s for s in self.convert(recording, "collapsed", "--weight", "cpu") if "work (shares.js)" in s.frames]
        self.check_lost(stacks, 0.005)
        self.check_parts(stacks, times, "{} (shares.js)")

    def test_chains(self):
        self.for_each_node(self.check_chains, CHAINS, "chains")

    def check_chains(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--count", 2000, "--interval", "1ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu", "--frames", "language")
        inside = [s for s in stacks if any(f.endswith((" (<eval>)", " (chains.js)")) for f in s.frames)]
        self.check_lost(inside, 0.005)
        # Compilers and the garbage collector have threads of their own.
        self.assertGreater(profiles.total(inside), 0.4 * profiles.total(stacks))
        self.assertGreater(sum(1 for s in inside if self.is_true_chain(s)), 20)

    def is_true_chain(self, stack):
        """Asserts that each function has its only caller before it, as far as neither is inlined. False: there is
        none."""
        names = [m[1] for f in stack.frames if (m := re.fullmatch(r"(r[abc]*) \(<eval>\)", f))]
        for caller, name in zip(names, names[1:]):
            self.assertTrue(name.startswith(caller) and name != caller, stack.frames)
        return len(names) > 1

    def test_waits(self):
        """Blocked threads show the line in which they wait, and are not woken."""
        self.for_each_node(self.check_waits, WAITS, "waits")

    def check_waits(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--rate", 200, "--count", 200)
        self.finish(program)
        self.check_undisturbed(recording)
        stacks = self.convert(recording, "collapsed")
        falls = [s for s in stacks if "fall (waits.js)" in s.frames]
        self.assertTrue(falls)
        for stack in falls:
            self.assertEqual(stack.frames.count("fall (waits.js)"), 51)
        self.assertTrue(profiles.has_function(stacks, r"^execSync \(node:child_process\)$"))
        lines = {number for number, line in enumerate(WAITS.splitlines(), 1) if line.endswith("// wait")}
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--state", "blocked").out.decode()
        self.assertLessEqual(lines, set(map(int, re.findall(r"waits\.js:(\d+)", text))))

    def test_storm(self):
        """The program survives, and its functions have names."""
        self.for_each_node(self.check_storm, STORM, "storm")

    def check_storm(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--count", 3000, "--rate", 1000)
        self.assertEqual(self.finish(program).strip(), "whole")
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        self.assertTrue(profiles.has_function(stacks, r"^storm \(storm\.js\)$"))
        self.check_lost(stacks, 0.02)

    def test_native_addon(self):
        """Native code between frames of JavaScript stands between them."""
        source, library = self.folder / "addon.c", self.folder / "addon.node"
        source.write_text(ADDON)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        self.for_each_node(self.check_native_addon, NATIVE, "native")

    def check_native_addon(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--count", 800, "--interval", "2ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        inside = [s for s in stacks if "back (native.js)" in s.frames]
        self.assertGreater(profiles.total(inside), 0.7 * profiles.total(stacks))
        chain = r"addon_outer;addon_middle;.*napi_call_function;.*;back \(native\.js\)"
        # Of interpreted frames some are lost.
        for expression, least in ((chain, 0.99), (rf"turn \(native\.js\);.*{chain}", 0.9)):
            found = sum(s.weight for s in inside if re.search(expression, ";".join(s.frames)))
            self.assertGreater(found, least * profiles.total(inside), expression)

    def test_garbage_collection(self):
        if not has_collector_names():
            self.skipTest("the V8 of this root exports none of its own functions")
        self.for_each_node(self.check_garbage, GARBAGE, "garbage")

    def check_garbage(self, path, source):
        program = self.run_program(path, source)
        recording = self.record(program.pid, "--count", 1500, "--interval", "2ms")
        # Before the program ends, by way of which the files of a root are found.
        report = json.loads(self.swipr("report", "--json", "--weight", "cpu", recording).out)
        self.assertIn(b"garbage collection: ", self.swipr("report", recording).out)
        share = float(self.finish(program))  # of wall time, which waits for a CPU stretch evenly
        found = report["javascript"]
        self.assertEqual(report["garbage_collection"], found["collectors_ns"])
        # Helper threads collect as well.
        self.assertGreater(share, 0.05)
        self.assertGreater(found["collectors_ns"], 0.5 * share * found["cpu_ns"])
        self.assertLess(found["collectors_ns"] + found["compilers_ns"], found["cpu_ns"])

    def test_selected_frames(self):
        program = self.run_program(programs()[0], self.source(SHARES, "shares.js"))
        self.check_selected_frames(program, r"javascript V8 \d+\.\d+\.\d+\.\d+: frames are read", "work (shares.js)", r"\(shares\.js\)", "js")

    def test_switched_off(self):
        program = self.run_program(programs()[0], self.source(SHARES, "shares.js"), env={"SWIPR_RUNTIMES": "0"})
        self.check_switched_off(program, r"shares\.js")


if __name__ == "__main__":
    unittest.main()
