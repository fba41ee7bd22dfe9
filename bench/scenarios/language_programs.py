"""The programs of bench/languages and the language runtimes of this machine that run them.

The runtimes are those of the integration tests: see interpreters(), machines() and programs() there, and the
variables SWIPR_PYTHONS, SWIPR_JAVA_HOMES, SWIPR_NODES, SWIPR_RUBIES, SWIPR_PHPS, SWIPR_PERLS, SWIPR_RS, SWIPR_LUAS and
SWIPR_LUAJITS.
"""
import collections
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from scenarios.guest import ROOT, Program, run

sys.path.insert(0, str(ROOT / "tests"))
from integration.languages import javascript_frames_test  # noqa: E402
from integration.languages import lua_frames_test  # noqa: E402
from integration.languages import luajit_frames_test  # noqa: E402
from integration.languages import perl_frames_test  # noqa: E402
from integration.languages import php_frames_test  # noqa: E402
from integration.languages import r_frames_test  # noqa: E402
from integration.languages import ruby_frames_test  # noqa: E402
from support import java  # noqa: E402
from support.interpreters import interpreters  # noqa: E402

FOLDER = ROOT / "bench/languages"
FUNCTIONS = ("seventy", "twenty", "ten")
OPTIONS = {"PHP": ("-d", "opcache.enable_cli=0")}
PROGRAMS = {"Python": "python3", "Java": "java", "JavaScript": "node", "Ruby": "ruby", "PHP": "php", "Perl": "perl",
            "R": "Rscript", "Lua": "lua5.4", "LuaJIT": "luajit"}
SCRIPTS = {"Python": "shares.py", "Java": "Shares", "JavaScript": "shares.js", "Ruby": "shares.rb", "PHP": "shares.php",
           "Perl": "shares.pl", "R": "shares.R", "Lua": "shares.lua", "LuaJIT": "shares.lua"}
# Programs of these ask for input by reads that do not wait, because the languages have no other way.
UNBLOCKED = {"Lua", "LuaJIT"}


@functools.cache
def java_classes():
    folder = tempfile.TemporaryDirectory()
    run("javac", "--release", str(java.OLDEST), "-nowarn", "-d", folder.name, FOLDER / "Shares.java")
    return folder


@functools.cache
def runtimes(language):
    """Paths, one of each version."""
    find = {"Python": interpreters, "Java": java.machines,
            "JavaScript": javascript_frames_test.programs, "Ruby": ruby_frames_test.programs,
            "PHP": php_frames_test.programs, "Perl": perl_frames_test.programs,
            "R": r_frames_test.programs, "Lua": lua_frames_test.programs, "LuaJIT": luajit_frames_test.programs}
    paths = {version(path): path for path in find[language]()}
    return [paths[each] for each in sorted(paths, key=lambda each: list(map(int, re.findall(r"\d+", each))))]


def runtime_in_path(language):
    """The runtime that a shell would start, or the first one."""
    found = shutil.which(PROGRAMS[language])
    return next((path for path in runtimes(language) if os.path.realpath(path) == os.path.realpath(found or "")),
                runtimes(language)[0])


@functools.cache
def version(path):
    name = os.path.basename(path)
    flag = "-version" if name == "java" else "-v" if name.startswith("lua") else "--version"
    said = subprocess.run([path, flag], capture_output=True, text=True, check=True)
    text = said.stdout + said.stderr  # "This is perl 5, version 36, subversion 0 (v5.36.0) …"
    return (re.search(r"\d+\.[\w.]*\d", text) or re.search(r"\d+", text))[0]


def command(language, path, script=None):
    if language == "Java":
        return path, "-Xmx256m", "-cp", java_classes().name, script or SCRIPTS[language]
    return path, *OPTIONS.get(language, ()), FOLDER / (script or SCRIPTS[language])


def function_of(frames):
    """The innermost of the three functions in a stack, root first; None: not in it."""
    for frame in reversed(frames):
        found = re.search(r"\b(seventy|twenty|ten)\b", frame)
        if found:
            return found[1]
    return None


def parse_collapsed(text):
    """[(frames, weight)], without the thread that swipr puts first."""
    lines = (line.rpartition(" ") for line in text.splitlines())
    return [(stack.split(";"), int(weight)) for stack, _, weight in lines]


def shares_of(stacks):
    sums = collections.Counter()
    for frames, weight in stacks:
        sums[function_of(frames)] += weight
    whole = sum(sums[name] for name in FUNCTIONS)
    return [100 * sums[name] / whole if whole else 0 for name in FUNCTIONS]


def process_cpu(pid):
    return time.clock_gettime_ns((~pid << 3) | 2)  # the kernel's number of another process's CPU clock


Mark = collections.namedtuple("Mark", "cpu units used")


class Shares(Program):
    """A program of bench/languages that has warmed up."""

    def __init__(self, language, path, *options, **more):
        words = command(language, path)
        super().__init__(words[0], *options, *words[1:], blocks=language not in UNBLOCKED, **more)
        self.language = language
        if self.ready != ["ready"]:
            raise RuntimeError(f"{path} does not run {words[-1]}")
        time.sleep(1.5)

    def end(self):
        if self.language == "R":  # which cannot tell that its input has ended
            self.process.kill()
        super().end()

    def mark(self):
        words = self.command("mark")
        while not all(word.isdigit() for word in words):
            words = self.answer()  # async-profiler writes to the program's output
        units, *used = map(int, words)
        return Mark(process_cpu(self.process.pid), units, used)


def truth(before, after):
    used = [end - begin for begin, end in zip(before.used, after.used)]
    return [100 * part / sum(used) for part in used]


def deviation(shares, expected):
    return max(abs(found - wanted) for found, wanted in zip(shares, expected))


def text_of(shares):
    return "/".join(f"{share:.1f}" for share in shares)


def named_by_map(pid, stacks):
    """Of the weight of JavaScript's frames of the program, the per cent whose name is in V8's perf map."""
    names = set(re.findall(r"(?:JS|LazyCompile|Function):\W*([\w$]+) \S*shares\.js:", pathlib.Path(f"/tmp/perf-{pid}.map").read_text()))
    known = whole = 0
    for frames, weight in stacks:
        for frame in frames:
            found = re.match(r"([\w$]+) \(shares\.js\)", frame)
            if found:
                whole += weight
                known += weight * (found[1] in names)
    return 100 * known / whole if whole else 0
