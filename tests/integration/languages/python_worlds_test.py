"""Frames of Python in the environments that programs make for it: embedded and loaded late, subinterpreters,
processes and images, native code between Python frames."""

import glob
import json
import os
import re
import signal
import subprocess
import sysconfig
import unittest

from support import deadline, profiles, sampling
from support.interpreters import interpreters
from support.python_truth import HERE, PLAIN, TruthCase

CONSTRUCTS = HERE + """
import asyncio, ctypes, functools, looping
try: import numpy
except ImportError: numpy = None
def decorator(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper
def by_extension():
    looping.each(here)
def by_numpy():
    if numpy is None: return by_extension()
    numpy.frompyfunc(lambda value: by_extension(), 1, 1)(numpy.zeros(1))
def by_exec():
    exec(compile("def compiled():\\n    by_numpy()\\ncompiled()", "<made>", "exec"), globals())
def by_class():
    class Body:
        class Nested:
            value = by_exec()
async def inner():
    by_class()
async def middle():
    await asyncio.sleep(0)
    await inner()
async def outer():
    await asyncio.gather(middle(), asyncio.sleep(0))
def by_async():
    asyncio.run(outer())
def generated():
    yield by_async()
def delegating():
    yield from generated()
def by_generator():
    return [list(delegating()) for _ in range(1)]
compares = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def by_callback():
    @compares
    def compare(left, right):
        by_generator()
        return 0
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare)
@decorator
@decorator
def decorated():
    by_callback()
class Sorted:
    def __init__(self, ends): self.ends = ends
    def __lt__(self, other):
        decorated()
        return False
def begin():
    sorted([Sorted(1), Sorted(2)])
thread = threading.Thread(target=begin)
thread.start()
thread.join()
"""
# Native frames of CONSTRUCTS between frames of Python, root first. The names of methods differ between versions.
NATIVE_ORDER = ("begin (app.py)", "by_callback (app.py)", "msort_with_tmp", "by_generator (app.py)", "inner (app.py)",
                "by_class (app.py)", "compiled (<made>)", "by_numpy (app.py)", "looping_each", "here (app.py)")

CYTHON = """
cdef through(function):
    return function()
def each(function):
    return through(function)
"""

CYTHON_USER = HERE + """
import walker
def by_cython():
    walker.each(here)
by_cython()
"""

PYBIND11 = """
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
struct Walker {
  explicit Walker(std::function<void()> function) : function(std::move(function)) {}
  __attribute__((noinline)) void walk() { function(); asm volatile(""); }
  std::function<void()> function;
};
PYBIND11_MODULE(bound, module) {
  pybind11::class_<Walker>(module, "Walker").def(pybind11::init<std::function<void()>>()).def("walk", &Walker::walk);
}
"""

PYBIND11_USER = HERE + """
import bound
def by_pybind11():
    bound.Walker(here).walk()
by_pybind11()
"""

UWSGI = """
import time
def work(seconds):
    end = time.time() + seconds
    while time.time() < end: sum(range(1000))
def rest(seconds):
    time.sleep(seconds)
def application(environ, start):
    work(0.7)
    rest(0.7)
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"done"]
"""

HOST = HERE + """
import host
def inner():
    here()
def outer():
    host.call(inner)
host.call(outer)
"""


@sampling.sampled
class ConstructsTest(TruthCase):
    def test_native_code_between_frames_of_python(self):
        for path in interpreters():
            for how in ("wait", "burn", "nap"):
                with self.subTest(interpreter=path, how=how):
                    self.check(CONSTRUCTS, how, path, order=NATIVE_ORDER)

    def test_numpy_calls_back(self):
        recording = self.check(CONSTRUCTS, "wait", order=NATIVE_ORDER)
        between = [re.search(r"by_numpy \(app.py\);(.*);by_numpy.<locals>", ";".join(chain.all))
                   for chain in self.chains(recording)]
        self.assertTrue(any(found and "@_multiarray_umath" in found[1] for found in between))


    def test_cython_calls_back(self):
        """A module that Cython has made of Python, for the Python of this machine."""
        self.folder.joinpath("walker.pyx").write_text(CYTHON)
        subprocess.run(["cython3", "-3", "walker.pyx"], cwd=self.folder, check=True)
        self.compile_module("cc", "walker.c", "walker.so", "-fno-inline")
        order = ("by_cython (app.py)", "__pyx_f_6walker_through", "here (app.py)")
        for how in ("wait", "burn", "nap"):
            with self.subTest(how=how):
                self.check(CYTHON_USER, how, order=order)

    def compile_module(self, compiler, source, module, *options):
        headers = sysconfig.get_path("include", vars={"py_version_short": "3.11", "installed_base": "/usr", "base": "/usr"})
        subprocess.run([compiler, "-O1", "-w", "-shared", "-fPIC", *options, f"-I{headers}", source, "-o", module],
                       cwd=self.folder, check=True)

    def test_pybind11_calls_back(self):
        self.folder.joinpath("bound.cc").write_text(PYBIND11)
        self.compile_module("c++", "bound.cc", "bound.so", "-std=c++17")
        order = ("by_pybind11 (app.py)", "Walker::walk()", "here (app.py)")
        for how in ("wait", "burn", "nap"):
            with self.subTest(how=how):
                self.check(PYBIND11_USER, how, order=order)


# An indirect function, which takes long to be resolved.
SLOW = """
static int value(void) { return 1; }
static int (*resolve(void))(void) {
  for (volatile long step = 0; step < 300000000; ++step) {}
  return value;
}
int slow_value(void) __attribute__((ifunc("resolve")));
int slow(void) { return slow_value(); }
"""


def find_libpython():
    (library,) = glob.glob("/usr/lib/*/libpython3.11.so.1.0")
    return library


@sampling.sampled
class EmbeddedTest(TruthCase):
    def test_a_thread_of_a_program_that_embeds_python(self):
        order = ("host_run", "<module> (app.py)", "host_call", "outer (app.py)", "host_call", "inner (app.py)",
                 "here (app.py)")
        for build in ("nofp", "fp"):
            for how in ("wait", "burn", "nap"):
                with self.subTest(build=build, how=how):
                    self.check(HOST, how, self.target_path(f"python_host_{build}"), order=order)

    def test_worker_that_a_server_has_forked_without_python(self):
        """Python has the tid of the parent for it."""
        self.folder.joinpath("app.py").write_text(UWSGI)
        socket = self.folder / "uwsgi.sock"
        recording = self.folder / "uwsgi.swipr"
        server = self.start_swipr("record", "-o", recording, "--", "uwsgi", "--plugin", "python3", "--http-socket", socket,
                                  "--wsgi-file", "app.py", "--master", "--processes", 1, "--die-on-term", cwd=self.folder)
        deadline.wait_until(socket.exists, "the server's socket")
        said = subprocess.run(["curl", "-sS", "--unix-socket", socket, "http://x/"], capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout, "done")
        server.signal(signal.SIGTERM)
        server.wait()
        stacks = [stack for stack in self.convert(recording, "collapsed") if "uwsgi_request_wsgi" in stack.frames]
        for function in ("work", "rest"):
            inside = [";".join(s.frames) for s in stacks for _ in range(s.weight) if f"{function} (app.py)" in s.frames]
            self.assertGreater(len(inside), 30, function)
            for text in inside:
                self.assertRegex(text, rf";uwsgi_request_wsgi;.*application \(app.py\);{function} \(app.py\)")
        python = [stack for stack in stacks if "application (app.py)" in stack.frames]
        self.assertGreater(profiles.total(python), 0.95 * profiles.total(stacks))

    def test_loaded_while_it_is_recorded(self):
        script = self.write(PLAIN + "\nouter()\n")
        for how in ("wait", "burn"):
            with self.subTest(how=how):
                recording, told = self.record_late(find_libpython(), script, how)
                chains = [chain for chain in self.chains(recording)
                          if any(name == "outer" for name, _, _ in chain.python)]
                self.assert_true(chains, told, share=0.8, least=15)

    def test_met_before_it_is_relocated(self):
        """The loader runs code of a library, which takes long, and then relocates Python."""
        self.folder.joinpath("slow.c").write_text(SLOW)
        self.folder.joinpath("late.c").write_text("int late;")
        for name, *needed in (("slow",), ("late", "-Wl,--no-as-needed", find_libpython(), "./slow.so")):
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", f"{name}.c", "-o", f"{name}.so", *needed], cwd=self.folder, check=True)
        script = self.write(PLAIN + "\nouter()\n")
        self.record_late(self.folder / "late.so", script, "burn")

    def record_late(self, library, script, how):
        """Until there are frames of the script, which runs in a Python that is loaded meanwhile."""
        program = self.start(self.target_path("python_late_nofp"), library, script, preloaded=True, env={"HOW": how},
                             cwd=self.folder)
        self.assertEqual(program.read_line(), "waiting")
        self.wait_for_socket(program.pid)
        running, data = self.start_streaming(program.pid, "--interval", "5ms")
        program.send("\n")
        told = self.read_truth(program)
        recording = self.finish_streaming_when(running, data, lambda stacks: sum(
            stack.weight for stack in stacks if "here (app.py)" in stack.frames) > 20)
        self.finish(program)
        return recording, told


SUBINTERPRETERS = HERE + """
import textwrap
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
run = interpreters.exec if hasattr(interpreters, "exec") else interpreters.run_string
def create():
    try: return interpreters.create(isolated=False)
    except TypeError: return interpreters.create()
def enter():
    place = create()
    code = HERE_TEXT + CODE.replace("BEFORE", repr(here_truth()))
    run(place, code)
def here_truth():
    frames = truth()[:-1]
    # The frame of `enter` will be at the line of its call.
    name, file, line = frames[-1]
    return [*frames[:-1], (name, file, line + 1)]
"""


@sampling.sampled
class SubinterpretersTest(TruthCase):
    """A thread's frames in the interpreter that it has entered stand below those of the one that it came from."""

    def text_of(self, code, start):
        return f"HERE_TEXT = {HERE!r}\nCODE = {code!r}\n" + SUBINTERPRETERS + start

    def for_each(self, text, how):
        for path in interpreters():
            with self.subTest(interpreter=path, how=how):
                self.check(text, how, path)

    def test_entered(self):
        code = "def called(): here(before=BEFORE)\ncalled()\n"
        for how in ("wait", "burn"):
            self.for_each(self.text_of(code, "enter()\n"), how)

    def test_entered_by_a_thread(self):
        code = "def called(): here(before=BEFORE)\ncalled()\n"
        start = "thread = threading.Thread(target=enter)\nthread.start()\nthread.join()\n"
        self.for_each(self.text_of(code, start), "wait")
        self.for_each(self.text_of(code, start), "burn")

    def test_threads_of_its_own(self):
        code = ("def called(): here()\nthread = threading.Thread(target=called)\nthread.start()\nthread.join()\n")
        for how in ("wait", "burn"):
            self.for_each(self.text_of(code, "enter()\n"), how)


FORKS = PLAIN + """
import multiprocessing
def in_child(): outer()
def in_worker(): outer()
if __name__ == "__main__":
    outer()
    child = os.fork()
    if child == 0:
        in_child()
        os._exit(0)
    os.waitpid(child, 0)
    for way in ("fork", "spawn"):
        process = multiprocessing.get_context(way).Process(target=in_worker)
        process.start()
        process.join()
    outer()
    sys.stdout.flush()
"""

EXECS = PLAIN + """
def before(): outer()
def after(): outer()
if len(sys.argv) == 1:
    before()
    os.execv(sys.executable, [sys.executable, __file__, "again"])
after()
"""


class ProcessesTest(TruthCase):
    def record_command(self, text, path):
        recording = self.folder / "command.swipr"
        finished = self.swipr("record", "-o", recording, "--interval", "5ms", "--", path, self.write(text),
                              stdin_bytes=b"", env={"HOW": "brief"})
        told = [json.loads(line) for line in finished.out.decode().splitlines()]
        return self.chains(recording), told

    def check_places(self, text, path, places):
        """Each place that told its frames is seen with them."""
        chains, told = self.record_command(text, path)
        self.assertEqual(len(told), places)
        for truth in told:
            seen = sum(chain.weight for chain in chains
                       if (chain.pid, chain.tid) == (truth["pid"], truth["tid"]) and chain.is_true(truth["frames"]))
            self.assertGreater(seen, 10, truth)
        here = [chain for chain in chains if any(frame[0] == "here" for frame in chain.python)]
        true = [chain for chain in here if any(chain.is_true(truth["frames"]) for truth in told)]
        self.assertGreater(sum(chain.weight for chain in true), 0.95 * sum(chain.weight for chain in here) - 5)

    def test_forks(self):
        for path in interpreters():
            with self.subTest(interpreter=path):
                self.check_places(FORKS, path, 5)

    def test_exec(self):
        for path in interpreters():
            with self.subTest(interpreter=path):
                self.check_places(EXECS, path, 2)


if __name__ == "__main__":
    unittest.main()
