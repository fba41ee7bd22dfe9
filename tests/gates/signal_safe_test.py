#!/usr/bin/env python3
"""The gate scripts/check_signal_safe accepts the archives of the build and rejects every canary.
usage: signal_safe_test.py ARCHIVE…"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import compiler

GATE = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_signal_safe"
ARCHIVES = sys.argv[1:]

# defect, code, call by which the gate detects it
CANARIES = [
    ("allocation", "#include <cstdlib>\nvoid* f(unsigned long n) { return std::malloc(n); }",
     "malloc"),
    ("string", "#include <string>\nstd::string f(const char* t) { return std::string(t) + t; }",
     "_Znwm"),
    ("lock", "#include <pthread.h>\npthread_mutex_t m;\nint f() { return pthread_mutex_lock(&m); }",
     "pthread_mutex_lock"),
    ("static with a constructor", "int g();\nint f() { static int x = g(); return x; }",
     "__cxa_guard_acquire"),
    ("global with a destructor", "struct S { ~S(); };\nS s;", "__cxa_atexit"),
    ("resolved thread-local", "__attribute__((visibility(\"default\"))) thread_local int x;\n"
     "int* f() { return &x; }", "__tls_get_addr"),
    ("stdio", "#include <cstdio>\nvoid f() { std::puts(\"x\"); }", "puts"),
    ("exception", "void f() { throw 1; }", "__cxa_throw"),
    ("virtual call table", "struct A { virtual void f() = 0; };\nstruct B : A { void f() override; };"
     "\nvoid B::f() {}", "__cxa_pure_virtual|_ZTV"),
]


def check(*archives):
    return subprocess.run([GATE, *archives], capture_output=True, text=True)


class SignalSafeGate(unittest.TestCase):
    def test_accepts_the_archives_of_the_build(self):
        result = check(*ARCHIVES)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_rejects_every_canary(self):
        for wrong, source, call in CANARIES:
            with self.subTest(wrong), tempfile.TemporaryDirectory() as folder:
                result = check(*ARCHIVES,
                               compiler.make_archive(pathlib.Path(folder), "canary", source))
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stdout, call)

    def test_rejects_an_archive_without_code(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder) / "empty.a"
            subprocess.run(["ar", "rcs", empty], check=True)
            self.assertEqual(check(empty).returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
