#!/usr/bin/env python3
"""The gate scripts/check_handler_stack accepts the library of the build and rejects every canary.
usage: handler_stack_test.py LIBRARY"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import compiler

GATE = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_handler_stack"
LIBRARY = sys.argv[1]
HANDLER = """
#include <csignal>
[[gnu::noinline]] static void fill(unsigned char* from, int number) {{ from[number] = 1; asm volatile("" :: "r"(from) : "memory"); }}
{}
namespace swipr::handler {{ void on_signal(int number, siginfo_t*, void*) {{ {} }} }}
"""


def check(library):
    return subprocess.run([GATE, library], capture_output=True, text=True)


class HandlerStackGate(unittest.TestCase):
    def check(self, functions, body):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            code = compiler.compile_object(folder, "canary", HANDLER.format(functions, body))
            return check(compiler.link_library(folder, "canary.so", code))

    def test_accepts_the_library_of_the_build(self):
        result = check(LIBRARY)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("take_sample", result.stdout)

    def test_accepts_a_small_handler(self):
        result = self.check("", "unsigned char bytes[256]; fill(bytes, number);")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"(2[6-9]|3\d)\d bytes of stack")

    def test_rejects_a_large_frame(self):
        result = self.check("", "unsigned char bytes[4096]; fill(bytes, number);")
        self.assertEqual(result.returncode, 1)

    def test_adds_the_frames_of_a_chain(self):
        step = "[[gnu::noinline]] static void {}(int n) {{ unsigned char bytes[1024]; fill(bytes, n); {} asm(\"\"); }}"
        result = self.check(step.format("inner", "") + step.format("outer", "inner(n);"), "outer(number);")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?s)on_signal.*outer.*inner")

    def test_rejects_recursion(self):
        result = self.check("[[gnu::noinline]] static int again(int n) { return n ? n * again(n - 2) + again(n - 1) : 1; }",
                            "fill(nullptr, again(number));")
        self.assertEqual(result.returncode, 1)
        self.assertIn("calls itself", result.stderr)

    def test_rejects_a_library_without_a_handler(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            code = compiler.compile_object(folder, "canary", "void f() {}")
            result = check(compiler.link_library(folder, "canary.so", code))
        self.assertEqual(result.returncode, 1)
        self.assertIn("0 functions named on_signal", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
