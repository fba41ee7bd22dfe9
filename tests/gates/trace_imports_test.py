#!/usr/bin/env python3
"""Hooks and the code between gate and patch call nothing outside of themselves: what they called
could be traced. Nor does what walks in signal handlers ask for places. usage: trace_imports_test.py ARCHIVE_OF_GATE
ARCHIVE_OF_CALLS ARCHIVE_OF_PLAN ARCHIVE_OF_TRACE"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import compiler

GATE, CALLS, PLAN, TRACE = sys.argv[1:5]
LINKER = {"_GLOBAL_OFFSET_TABLE_"}


def symbols(file):
    output = subprocess.run(["nm", "-A", "--format=posix", file], check=True, capture_output=True,
                            text=True).stdout
    for line in output.splitlines():
        place, name, kind = line.split()[:3]
        yield place, name, kind


def imports(files, is_checked):
    found = [entry for file in files for entry in symbols(file)]
    defined = {name for _, name, kind in found if kind not in "Uvw"}
    return {name for place, name, kind in found
            if kind in "Uvw" and is_checked(place)} - defined - LINKER


class TraceImports(unittest.TestCase):
    def test_hooks_and_gate_import_nothing(self):
        self.assertTrue(any("hooks." in place for place, _, _ in symbols(CALLS)))
        self.assertEqual(imports([GATE, CALLS], lambda place: GATE in place or "hooks." in place),
                         set())

    def test_places_import_nothing(self):
        self.assertTrue(any("places" in place for place, _, _ in symbols(TRACE)))
        self.assertEqual(imports([CALLS, PLAN, TRACE], lambda place: "places" in place), set())

    def test_a_call_of_libc_is_found(self):
        source = "#include <cstring>\nvoid f(char* p, unsigned long n) { std::memset(p, 0, n); }"
        with tempfile.TemporaryDirectory() as folder:
            canary = compiler.compile_object(pathlib.Path(folder), "canary", source)
            self.assertEqual(imports([str(canary)], lambda place: True), {"memset"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
