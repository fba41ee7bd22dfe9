#!/usr/bin/env python3
"""The gate scripts/check_preload accepts the library of the build and rejects every canary.
usage: preload_test.py LIBRARY"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import compiler

GATE = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_preload"
LIBRARY = sys.argv[1]

HALF = '#include <unistd.h>\nextern "C" void _exit(int) { for (;;) pause(); }\n'
EXPORTS = pathlib.Path(__file__).resolve().parents[2] / "scripts/lists/preload_exports.txt"
LISTED = [line.split()[0] for line in EXPORTS.read_text().splitlines() if line and not line.startswith("#")]
# Every other listed name, with any signature.
OTHERS = "".join(
    f'extern "C" void canary_{name}() asm("{name}");\nextern "C" void canary_{name}() {{}}\n'
    for name in LISTED
    if name not in ("_exit", "_Exit")
)
GOOD = HALF + 'extern "C" void _Exit(int s) noexcept { _exit(s); }\n' + OTHERS
LINK = ["-nodefaultlibs", "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,-soname,libswipr_preload.so"]


def check(library):
    return subprocess.run([GATE, library], capture_output=True, text=True)


class PreloadGate(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.addCleanup(self.temporary.cleanup)

    def build(self, source="", link=LINK, inputs=("-lc",)):
        code = compiler.compile_object(self.folder, "canary", GOOD + source)
        return compiler.link_library(self.folder, "canary.so", code, *link, *inputs)

    def rejected(self, library, complaint):
        result = check(library)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(complaint, result.stdout)

    def without(self, option):
        self.assertIn(option, LINK)
        return [other for other in LINK if other != option]

    def test_accepts_the_library_of_the_build(self):
        result = check(LIBRARY)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_accepts_the_canaries_common_part(self):
        result = check(self.build())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_rejects_another_library_needed(self):
        self.rejected(self.build(inputs=("-Wl,--no-as-needed", "-lc", "-lm")), "NEEDED libm.so.6")

    def test_rejects_a_missing_libc(self):
        self.rejected(self.build(inputs=()), "NEEDED libc.so.6")

    def test_rejects_an_export_that_is_not_listed(self):
        self.rejected(self.build('extern "C" int open_secret() { return 1; }'), "exports open_secret")

    def test_rejects_a_listed_export_that_is_missing(self):
        code = compiler.compile_object(self.folder, "canary", HALF)
        self.rejected(compiler.link_library(self.folder, "canary.so", code, *LINK, "-lc"),
                      "does not export _Exit")

    def test_rejects_calls_that_are_not_a_guests(self):
        for name in ("malloc", "opendir", "pthread_mutex_lock", "abort", "puts", "umask", "clock_gettime", "ppoll"):
            with self.subTest(name):
                source = f'extern "C" void {name}();\n__attribute__((used)) static void call() {{ {name}(); }}'
                self.rejected(self.build(source), f"calls {name}: ")

    def test_rejects_lazy_binding(self):
        lazy = self.without("-Wl,-z,now") + ["-Wl,-z,lazy"]
        self.rejected(self.build(link=lazy), "-z now")

    def test_rejects_an_unloadable_library(self):
        self.rejected(self.build(link=self.without("-Wl,-z,nodelete")), "-z nodelete")

    def test_rejects_initfirst(self):
        self.rejected(self.build(link=LINK + ["-Wl,-z,initfirst"]), "initfirst")

    def test_rejects_an_executable_stack(self):
        self.rejected(self.build(link=LINK + ["-Wl,-z,execstack"]), "executable stack")

    def test_rejects_another_soname(self):
        self.rejected(self.build(link=self.without("-Wl,-soname,libswipr_preload.so")), "soname")

    def test_rejects_a_large_library(self):
        ballast = '__attribute__((used)) static const char ballast[700000] = {1};'
        self.rejected(self.build(ballast), "bytes when stripped")

    def test_rejects_a_symbol_of_a_newer_glibc(self):
        # A stand-in for a newer libc, with one function.
        versions = self.folder / "versions"
        versions.write_text("GLIBC_2.18 { global: brand_new; };\n")
        code = compiler.compile_object(self.folder, "new", 'extern "C" int brand_new() { return 1; }')
        future = compiler.link_library(self.folder, "libnew.so", code, "-nodefaultlibs",
                                       "-Wl,-soname,libc.so.6", f"-Wl,--version-script={versions}")
        source = 'extern "C" int brand_new();\nstatic int (*volatile use)() = brand_new;\n' \
                 '__attribute__((used)) static int call() { return use(); }'
        self.rejected(self.build(source, inputs=(future, "-lc")), "brand_new@GLIBC_2.18 is newer than")

    def test_rejects_functions_by_the_version_of_the_build(self):
        source = '#include <dlfcn.h>\n__attribute__((used)) static void* call() { return dlsym(nullptr, "x"); }'
        self.rejected(self.build(source), "dlsym@GLIBC_2.34 is newer than")

    def test_rejects_a_version_that_old_loaders_do_not_know(self):
        source = "int place;\n__attribute__((used, visibility(\"hidden\"))) int* pointers[] = {&place, &place};"
        packed = self.build(source.replace("int place", "static int place"), link=LINK + ["-Wl,-z,pack-relative-relocs"])
        self.rejected(packed, "needs GLIBC_ABI_DT_RELR")

    def test_rejects_a_strong_reference_to_what_was_in_another_library(self):
        source = (
            'extern "C" {attribute} void* old_dlsym(void*, const char*);\n'
            '__asm__(".symver old_dlsym, dlsym@GLIBC_2.2.5");\n'
            '__attribute__((used)) static void* call() {{ return old_dlsym(nullptr, "x"); }}'
        )
        self.rejected(self.build(source.format(attribute="")), "dlsym@GLIBC_2.2.5 is not weak")
        weak = check(self.build(source.format(attribute="[[gnu::weak]]")))
        self.assertEqual(weak.returncode, 0, weak.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
