"""Names of threads, functions, files and programs reach neither terminals nor pages with control
characters or characters that change the order of reading."""

import gzip
import json
import re
import shutil
import unittest
import urllib.request

from support.case import SwiprCase

BYTES = "\u009b\u0085\u202e\u2066"
SHOWN = r"\u009b\u0085\u202e\u2066"  # as clean_text writes them
# C0 without line breaks and tabs, DEL and C1; what orders text, and the separators of lines.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# The same as an escape in a script or in JSON, which the browser would decode.
ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\u(?:00[01789]|061[cC]|200[eEfF]|202[89a-eA-E]|206[6-9])")
FUNCTION, THREAD, SOURCE, PROGRAM = f"function{SHOWN}", f"t{SHOWN}d", f"source{SHOWN}", f"p{SHOWN}"


class HostileNamesTest(SwiprCase):
    def setUp(self):
        super().setUp()
        place = self.folder / f"folder{BYTES}"
        place.mkdir()
        self.hostile = shutil.copy(self.target_path("hostile_names_nofp"), place / f"p{BYTES}")
        self.work = self.folder / "work"
        self.work.mkdir()

    def check(self, data, *names):
        """`data` contains these names, and nothing raw."""
        text = data.decode() if isinstance(data, bytes) else data
        found = FORBIDDEN.search(text)
        self.assertIsNone(found, found and ascii(text[max(0, found.start() - 80):found.end() + 20]))
        for name in names:
            self.assertIn(name, text)
        return text

    def check_page(self, data, *names):
        """… in a page: strings of its scripts are escaped once more."""
        text = self.check(data, *(name.replace("\\", "\\\\") for name in names))
        found = ESCAPED.search(text)
        self.assertIsNone(found, found and ascii(text[max(0, found.start() - 80):found.end() + 20]))

    def start_program(self):
        # Also an escape sequence, invalid UTF-8 and a single byte of C1.
        program = self.start(self.hostile, f"argument{BYTES}\x1b[31m\udcff\udc9b", preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        return program

    def record_hostile(self):
        program = self.start_program()
        path = self.record(program.pid, "--count", 100, "--interval", "2ms")
        self.assertEqual(program.end().code, 0)
        return path

    def test_record(self):
        program = self.start_program()
        recorded = self.swipr("record", "--pid", program.pid, "--count", 20, cwd=self.work)
        self.check(recorded.err + recorded.out.decode())
        (path,) = self.work.iterdir()
        self.check(path.name)
        said = self.swipr("record", "--json", "-", "--pid", program.pid, "--count", 20, "-o", self.folder / f"o{BYTES}.swipr")
        self.check(said.err + said.out.decode(), f"o{SHOWN}")
        self.assertEqual(program.end().code, 0)

    def test_record_of_a_command(self):
        said = self.swipr("record", "-o", self.folder / f"c{BYTES}.swipr", "--", self.hostile)
        self.check(said.err, f"c{SHOWN}")
        missing = self.swipr("record", "--", self.folder / f"missing{BYTES}", expect=None)
        self.check(missing.err, f"missing{SHOWN}")

    def test_list_and_doctor(self):
        program = self.start_program()
        self.check(self.swipr("list").out, PROGRAM)
        listed = self.swipr("list", "--json").out
        self.check(listed)
        self.assertIn(f"p{BYTES}", [entry["command"] for entry in json.loads(listed)])
        self.check(self.swipr("doctor", "--pid", program.pid, expect=None).out, PROGRAM)
        self.check(self.swipr("doctor", "--compare-unwinders", "--", self.hostile, expect=None).out)
        self.assertEqual(program.end().code, 0)

    def test_report(self):
        path = self.record_hostile()
        self.check(self.swipr("report", path).out, FUNCTION, PROGRAM)
        self.check(self.swipr("report", "--by", "thread", path, expect=None).out)
        self.check(self.swipr("convert", "--explain", path, expect=None).out, PROGRAM)
        self.check(self.swipr("report", self.folder / f"missing{BYTES}", expect=1).err, f"missing{SHOWN}")
        self.check(self.swipr(f"report{BYTES}", expect=2).err, SHOWN)

    def test_formats(self):
        path = self.record_hostile()
        for fmt in ("collapsed", "perf"):
            with self.subTest(format=fmt):
                self.check(self.swipr("convert", path, "--format", fmt).out, FUNCTION, THREAD)
        with self.subTest(format="html"):
            self.check_page(self.swipr("convert", path, "--format", "html").out, FUNCTION, THREAD, SOURCE, PROGRAM)
        with self.subTest(format="speedscope"):
            self.check_page(self.swipr("convert", path, "--format", "speedscope").out, FUNCTION, PROGRAM)
        with self.subTest(format="firefox"):
            self.check_page(gzip.decompress(self.swipr("convert", path, "--format", "firefox").out), FUNCTION, PROGRAM)
        with self.subTest(format="pprof"):
            strings = gzip.decompress(self.swipr("convert", path, "--format", "pprof").out)
            self.assertIn(FUNCTION.encode(), strings)
            for character in BYTES:
                self.assertNotIn(character.encode(), strings)

    def test_view(self):
        view = self.start_swipr("view", "--no-browser", self.record_hostile())
        address = view.read_line()
        for page in ("", "flame", "profile.speedscope.json"):
            with self.subTest(page=page), urllib.request.urlopen(address + page) as answer:
                self.check_page(answer.read(), FUNCTION)
        view.signal(2)
        self.check(view.end().err)


if __name__ == "__main__":
    unittest.main()
