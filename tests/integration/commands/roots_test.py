"""Programs of another release below the library (scripts/matrix): they start, say the same, are recorded with
complete stacks, and cannot tell. Its figures go into SWIPR_MATRIX_FIGURES, one JSON line each."""

import json
import os
import subprocess
import unittest

from support import deadline, raw, root
from support.case import SwiprCase

COMPLETE_PER_CENT = 99.5
PYTHON_LOOP = (
    "import select, sys\n"
    "def work(n):\n"
    "    return sum(i * i for i in range(n))\n"
    "print('ready', flush=True)\n"
    "while not select.select([sys.stdin], [], [], 0)[0]:\n"
    "    work(20000)\n"
)
NODE_LOOP = (
    "let end = false; process.stdin.on('end', () => { end = true; }).resume(); console.log('ready');"
    "function work() { let s = 0; for (let i = 0; i < 1e6; i++) s += i * i; if (!end) setImmediate(work); return s; } work();"
)
JAVA_LOOP = (
    "public class Loop { public static void main(String[] a) throws Exception { System.out.println(\"ready\");"
    " new Thread(() -> { try { System.in.read(); } catch (Exception e) { } System.exit(0); }).start();"
    " double s = 0; while (true) { for (int i = 0; i < 1000000; i++) s += Math.sqrt(i); if (s < 0) return; } } }"
)
PERL_LOOP = (
    "$| = 1; sub work { my $sum = 0; $sum += $_ * $_ for 1 .. 20000; return $sum } vec(my $input = '', 0, 1) = 1;"
    " print qq{ready\n}; work() until select(my $ready = $input, undef, undef, 0);"
)
PHP_LOOP = (
    "function work() { $sum = 0; for ($i = 0; $i < 20000; $i++) $sum += $i * $i; return $sum; } echo \"ready\n\";"
    " stream_set_blocking(STDIN, false); while (!feof(STDIN)) { work(); fgetc(STDIN); }"
)
RUBY_LOOP = (
    "def work; (1..20000).sum { |i| i * i }; end; $stdout.sync = true; puts 'ready';"
    " work until IO.select([STDIN], nil, nil, 0)"
)
SAYS = {
    "true": ["/bin/true"],
    "bash": ["/bin/bash", "-c", "echo $((6 * 7)); ls / | head -3; (exit 3)"],
    "python3": ["/usr/bin/python3", "-c", "import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()"],
    "perl": ["/usr/bin/perl", "-e", "print 6 * 7, \"\\n\"; fork or exit 0; wait; print \"$?\\n\""],
}
# What a program that is not linked with libpthread sees of it.
LOOK_AROUND = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#pragma weak pthread_create
int main(void) {
  printf("%d %d\\n", pthread_create != NULL, dlsym(RTLD_DEFAULT, "pthread_join") != NULL);
  return 0;
}
"""
# Works until its input ends, in one thread.
BURN = """
#include <poll.h>
#include <stdio.h>
int main(void) {
  puts("ready");
  fflush(stdout);
  struct pollfd in = {0, POLLIN, 0};
  volatile double sum = 0;
  while (poll(&in, 1, 0) == 0) {
    for (int i = 0; i < 100000; ++i) sum += i;
  }
  return 0;
}
"""


@unittest.skipUnless(root.current(), "runs below scripts/matrix")
class RootsTest(SwiprCase):
    def note(self, **figures):
        place = os.environ.get("SWIPR_MATRIX_FIGURES")
        if place:
            with open(place, "a") as file:
                file.write(json.dumps(figures) + "\n")

    def has(self, path):
        return os.path.exists(f"{self.root}{path}")

    def end_of(self, *command, **options):
        finished = self.start(*command, stdin=subprocess.DEVNULL, **options).wait()
        return finished.code, finished.out, finished.err

    def check_same(self, *command):
        expected = self.end_of(*command)
        for env in ({}, {"LD_BIND_NOW": "1"}, {"SWIPR_DISABLE": "1"}, {"SWIPR_RECORD": str(self.folder / "r-{PID}.swipr")}):
            with self.subTest(command=command[0], env=env):
                self.assertEqual(self.end_of(*command, preloaded=True, env=env), expected)

    def test_programs_say_the_same(self):
        for name, command in SAYS.items():
            self.check_same(*command)
            self.note(program=name, starts=True)

    def compile(self, name, source, *options):
        """A program; skips the test in a root without a compiler."""
        if not self.has("/usr/bin/gcc"):
            self.skipTest("no compiler in this root")
        file, program = self.folder / f"{name}.c", self.folder / name
        file.write_text(source)
        self.assertEqual(self.end_of("gcc", "-O1", file, "-o", program, *options)[0], 0)
        return program

    def test_libpthread_stays_hidden(self):
        self.check_same(self.compile("look", LOOK_AROUND, "-ldl"))

    def test_single_threaded_programs_are_recorded(self):
        program = self.compile("burn", BURN)
        self.check_recorded("C, one thread", program)

    def check_recorded(self, name, *command):
        program = self.start(*command, preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        path = self.record(program.pid, "--count", 500, "--interval", "2ms")
        (source,) = raw.read(path.read_bytes()).values()
        self.assertEqual(program.end(seconds=2 * deadline.DEADLINE_SECONDS).code, 0)
        totals = source.totals
        self.assertGreater(totals["stacks_walked"], 0)
        complete = 100 * totals["stacks_rooted"] / totals["stacks_walked"]
        self.note(program=name, starts=True, records=totals["samples"], complete=complete,
                  interrupted=totals["calls_interrupted"])
        self.assertEqual(totals["calls_interrupted"], 0)
        self.assertGreaterEqual(complete, COMPLETE_PER_CENT, totals)
        self.assertGreater(len(self.convert(path)), 0)

    def test_native_targets_are_recorded(self):
        for target in ("shares_nofp", "shares_fp", "blocked_nofp", "blocked_fp"):
            with self.subTest(target):
                self.check_recorded(target, self.target_path(target))

    def test_languages_are_recorded(self):
        source = self.folder / "Loop.java"
        source.write_text(JAVA_LOOP)
        programs = {
            "python3": ["-c", PYTHON_LOOP], "perl": ["-e", PERL_LOOP], "ruby": ["-e", RUBY_LOOP], "php": ["-r", PHP_LOOP],
            "node": ["-e", NODE_LOOP], "java": [source],
        }
        self.assertTrue(self.has("/usr/bin/python3"))
        for name, arguments in programs.items():
            if self.has(f"/usr/bin/{name}"):
                with self.subTest(name):
                    self.check_recorded(name, f"/usr/bin/{name}", *arguments)

    def test_programs_linked_with_musl_run(self):
        source, program = self.folder / "musl.c", self.folder / "musl"
        source.write_text("#include <stdio.h>\nint main(void) { puts(\"hello\"); return 3; }\n")
        if not self.has("/usr/bin/musl-gcc"):
            return
        self.assertEqual(self.end_of("musl-gcc", source, "-o", program)[0], 0)
        self.check_same(program)
        self.note(program="musl", starts=True)


if __name__ == "__main__":
    unittest.main()
