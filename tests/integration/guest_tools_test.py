"""Beside other allocators, in programs with sanitizers, under a debugger, behind other preloads: the
program says the same as without swipr."""

import pathlib
import unittest

from support import raw
from support.guest import GuestCase

LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu")
EXPECTED = ["child: 7", "child: 7", "child: 7"]


class ToolsTest(GuestCase):
    def check_recorded(self, plain, recorded, path):
        self.assertEqual(plain.out.decode().splitlines()[:3], EXPECTED, repr(plain))
        self.assertEqual((recorded.code, recorded.out), (plain.code, plain.out), recorded.err)
        said = [line for line in recorded.err.splitlines() if not line.startswith("swipr: ")]
        self.assertEqual(said, plain.err.splitlines())
        totals = [source.totals for source in raw.read(path.read_bytes()).values()]
        self.assertGreater(sum(total["stacks_walked"] for total in totals if total), 0)
        return len(totals)

    def check_allocator(self, name):
        """In front of swipr's library and behind it, at rest and recorded."""
        library = LIBRARIES / name
        program = self.target_path("allocating_none")
        plain = self.start(program, env={"LD_PRELOAD": str(library)}).wait()
        for order in ((library, self.preload), (self.preload, library)):
            idle = self.start(program, env={"LD_PRELOAD": ":".join(map(str, order))}).wait()
            self.assertEqual((idle.code, idle.out, idle.err), (plain.code, plain.out, plain.err))
        recorded, path = self.run_recorded("allocating_none", env={"LD_PRELOAD": str(library)})
        self.assertEqual(self.check_recorded(plain, recorded, path), 4)

    def test_jemalloc(self):
        self.check_allocator("libjemalloc.so.2")

    def test_tcmalloc(self):
        self.check_allocator("libtcmalloc_minimal.so.4")

    def test_mimalloc(self):
        self.check_allocator("libmimalloc.so.2")

    def test_sanitizers(self):
        for sanitizer in ("address", "undefined", "thread"):
            with self.subTest(sanitizer):
                name = f"allocating_{sanitizer}"
                recorded, path = self.run_recorded(name)
                images = self.check_recorded(self.run_plain(name), recorded, path)
                # TSan's forks are between two parts of the recording of the parent.
                self.assertEqual(images, 7 if sanitizer == "thread" else 4)

    def test_debugger(self):
        def said_by_the_program(finished):
            self.assertEqual(finished.code, 0, repr(finished))
            return [line for line in finished.out.splitlines() if line.startswith((b"child", b"bytes"))]

        gdb = ("gdb", "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off")
        run = ("-ex", "run", self.target_path("allocating_none"))
        plain = self.start(*gdb, *run).wait()
        idle = self.start(*gdb, "-ex", f"set env LD_PRELOAD {self.preload}", *run).wait()
        recorded = self.start_swipr("record", "--rate", 1000, "-o", self.folder / "gdb.swipr", "--", *gdb, *run).wait()
        self.assertEqual(len(said_by_the_program(plain)), 4)
        self.assertEqual(said_by_the_program(idle), said_by_the_program(plain), repr(idle))
        self.assertEqual(said_by_the_program(recorded), said_by_the_program(plain), repr(recorded))


if __name__ == "__main__":
    unittest.main()
