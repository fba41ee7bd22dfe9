"""Frames of Java in recordings: shares, chains, lines and waits of programs whose truth is known, in every HotSpot
on this machine whose version is supported."""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import unittest

from support import deadline, products, profiles, root, sampling
from support.java import SOURCES, JavaCase, machines, version_of

FIRST_VIRTUAL = 21
ROOT = rf"{products.THREAD_ROOT}$|\[libc\.so"  # the outermost frame of a thread; of some C libraries the name is not there

Wait = collections.namedtuple("Wait", "is_compiler state switches")


# Every method is called by one other: its name is that of its caller and one letter more. Calls are direct, through
# lambdas, reflection, method references and exceptions; interpreted first, compiled and inlined later.
CHAINS_HEAD = """
import java.lang.reflect.Method;
import java.util.*;
import java.util.stream.*;
public class Chains {
  static volatile boolean ended;
  static volatile long sink;
  static int seed = 14;
  static int next() { seed = seed * 1103515245 + 12345; return (seed >>> 16) % 3; }
  static int leaf(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i * i % 7; sink += sum; return sum; }
  static int call(String name) {
    try { return (Integer) Chains.class.getDeclaredMethod(name).invoke(null); }
    catch (ReflectiveOperationException e) { throw new RuntimeException(e); }
  }
"""
CHAINS_TAIL = """
  public static void main(String[] arguments) throws Exception {
    Thread worker = new Thread(() -> { while (!ended) r(); }, "worker");
    worker.start();
    System.out.println("ready");
    while (System.in.read() >= 0) { }
    ended = true;
    worker.join();
  }
}
"""


def java_frames(stack):
    """Names of the frames of Java, root first."""
    return [frame for frame in stack.frames if re.search(r" \(\w+\.java\)$", frame)]


def chains_source():
    """The methods r, ra … rcccc."""
    lines = []
    ways = ("{0}()", "call(\"{0}\")", "Stream.of(1).mapToInt(x -> {0}()).sum()",
            "Optional.of(1).map(x -> {0}()).get()", "throwing_{0}()")
    number = 0

    def make(name, depth):
        nonlocal number
        cases = []
        for at, letter in enumerate("abc"):
            child = name + letter
            if depth == 0:
                cases.append(f"if (way == {at}) return leaf(300);")
                continue
            make(child, depth - 1)
            cases.append(f"if (way == {at}) return {ways[number % len(ways)].format(child)};")
            number += 1
        lines.append(f"  static int {name}() {{ int way = next(); {' '.join(cases)} return 0; }}")
        lines.append(f"  static int throwing_{name}() {{ try {{ {name}(); throw new IllegalStateException(); }}"
                     f" catch (IllegalStateException e) {{ return 1; }} }}")

    make("r", 4)
    return CHAINS_HEAD + "\n".join(lines) + CHAINS_TAIL


@sampling.sampled
class JavaTest(JavaCase):
    def samples(self, stacks, thread, condition):
        return sum(s.weight for s in stacks if s.thread == thread and condition(s))

    def check_whole(self, stacks, thread, at_least, most_lost=0.005):
        """Stacks of the thread reach from Thread.run to the innermost frame. Some machines come without its file."""
        whole = self.samples(stacks, thread, lambda s: any(re.match(r"java\.lang\.Thread\.run\b", f) for f in s.frames))
        every = self.samples(stacks, thread, lambda s: s.frames != ["[no stack]"])
        self.assertGreaterEqual(whole, at_least * every, f"{whole} of {every} stacks of {thread} are whole")
        lost = self.samples(stacks, thread, lambda s: "[function gone]" in s.frames)
        self.assertLessEqual(lost, most_lost * every)

    def test_shares(self):
        for option in ("-Xint", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"):
            with self.subTest(option=option):
                self.for_each_machine(self.check_shares, "Shares", option)

    def check_shares(self, path, name, option):
        program = self.run_java(path, name, option)
        recording, times = self.record_shares(program)
        stacks = [s for s in self.convert(recording, "collapsed", "--weight", "cpu") if s.thread == "worker"]
        self.check_whole(stacks, "worker", 0.95)
        self.check_parts(stacks, times, "Shares.{} (Shares.java)")

    def test_chains(self):
        (self.folder / "Chains.java").write_text(chains_source())
        self.for_each_machine(self.check_chains, "Chains")

    def check_chains(self, path, name):
        program = self.run_java(path, name)
        recording = self.record(program.pid, "--count", 3000, "--interval", "1ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed")
        # While it warms up, code is replaced all the time, and a busy machine reads the names late.
        self.check_whole(stacks, "worker", 0.95, 0.02)
        checked = sum(s.weight for s in stacks if s.thread == "worker" and self.is_true_chain(s))
        self.assertGreater(checked, 200)
        kinds = self.convert(recording, "collapsed", "--frame-kinds")
        for suffix in ("0", "j", "i"):  # interpreted, compiled, inlined
            self.assertTrue(profiles.has_function(kinds, rf"^Chains\.r\w* \(Chains\.java\)_\[{suffix}\]$"), suffix)
        for stack in stacks:
            self.assertFalse([f for f in stack.frames if re.search(r"Lambda.*0x", f)], stack.frames)

    def is_true_chain(self, stack):
        """Asserts that each method has its only caller before it. False: no such method is there."""
        expected = None
        for frame in java_frames(stack):
            name = re.fullmatch(r"Chains\.(r[abc]*) \(Chains\.java\)", frame)
            if name is None:
                continue
            if expected is not None:
                self.assertEqual(name[1][:-1], expected, stack.frames)
            expected = name[1]
        return expected is not None

    def test_waits(self):
        """Blocked threads show the line in which they wait, and are not woken."""
        for option in ("-Xint", "-Xcomp"):
            with self.subTest(option=option):
                self.for_each_machine(self.check_waits, "Waits", option,
                                      "-XX:CompileCommand=compileonly,Waits::*", "-XX:CompileCommand=quiet")

    def check_waits(self, path, name, *options):
        names = ("sleeps", "parks", "enters", "awaits", "accepts", "falls")
        program = self.run_java(path, name, *options)
        tasks = {}

        def are_named():
            for task in pathlib.Path(f"/proc/{program.pid}/task").iterdir():
                tasks[(task / "comm").read_text().strip()] = task.name
            return tasks.keys() >= set(names)

        deadline.wait_until(are_named, "the names of all threads")
        tids = [tasks[thread] for thread in names if thread != "enters"]
        settled = [self.waits(program.pid)]

        def is_settled():
            """A thread whose method is being compiled sleeps, too: nothing may run, the compiler least of all."""
            settled.append(self.waits(program.pid))
            previous, now = ([waits.get(tid) for tid in tids] + [w for w in waits.values() if w.is_compiler]
                             for waits in settled[-2:])
            return now == previous and all(wait.state == "S" for wait in settled[-1].values())

        deadline.wait_until(is_settled, "the waits of all threads")
        recording = self.record(program.pid, "--rate", 1000, "--count", 500)
        after = self.waits(program.pid)
        self.assertEqual([after[tid] for tid in tids], [settled[-1][tid] for tid in tids])
        self.finish(program)
        self.check_undisturbed(recording)
        stacks = self.convert(recording, "collapsed")
        for thread in names:
            self.check_whole(stacks, thread, 0.99)
        falls = [s for s in stacks if s.thread == "falls"]
        self.assertTrue(all(s.frames.count("Waits.fall (Waits.java)") == 301 for s in falls))
        source_lines = enumerate((SOURCES / "Waits.java").read_text().splitlines(), 1)
        lines = {number for number, line in source_lines if line.endswith("// wait")}
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--state", "blocked").out.decode()
        found = set(map(int, re.findall(r"Waits\.java:(\d+)", text)))
        self.assertLessEqual(lines, found)
        self.check_monitors(recording)

    def check_monitors(self, recording):
        """The main thread holds what one thread wants to enter, and reads meanwhile. Another is to be notified."""
        stacks = self.convert(recording, "collapsed", "--weight", "blocked", "--state-frames", "on")
        for thread, state in (("enters", "[monitor Waits$Lock]"), ("awaits", "[wait Waits$Mail]"), ("parks", "[futex]"),
                              ("sleeps", "[futex]")):
            own = [s for s in stacks if s.thread == thread]
            found = {s.frames[-1] for s in own}
            if thread == "enters":  # it wakes now and then, by itself, and runs for a moment
                found = {frame for frame in found if frame.startswith("[") and frame != "[runnable]"}
                # A signal may meet it where its next wait begins.
                if sum(s.weight for s in own if s.frames[-1] == "[futex]") < 0.01 * profiles.total(own):
                    found.discard("[futex]")
            self.assertEqual(found, {state}, [(s.weight, s.frames) for s in own])
        monitors = json.loads(self.swipr("report", "--json", recording).out)["monitors"]
        holder = monitors["holders"][0]
        self.assertEqual(holder["lock"], "Waits$Lock")
        self.assertRegex(holder["function"], r"\.read")
        self.assertGreater(holder["waited_ns"], 0.95 * monitors["waited_ns"], monitors)
        entering = [s for s in stacks if s.thread == "enters"]
        waiting = [s for s in entering if s.frames[-1].startswith("[monitor ")]
        self.assertGreaterEqual(monitors["waited_ns"], profiles.total(waiting))
        self.assertLessEqual(monitors["waited_ns"], profiles.total(entering))

    def waits(self, pid):
        """The state of each thread. One that waits for a monitor wakes now and then, by itself."""
        found = {}
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            try:
                status = (task / "status").read_text()
            except OSError:
                continue  # a thread that has ended
            found[task.name] = Wait(is_compiler="CompilerThre" in status.splitlines()[0],
                                    state=re.search(r"^State:\s+(\S)", status, re.M)[1],
                                    switches=int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1]))
        return found

    def test_storm(self):
        """The program survives, and nearly all stacks are whole."""
        for option in ("-XX:+UseSerialGC", "-XX:+UseG1GC"):
            with self.subTest(option=option):
                self.for_each_machine(self.check_storm, "Storm", option)

    def check_storm(self, path, name, option):
        program = self.run_java(path, name, option)
        recording = self.record(program.pid, "--count", 4000, "--rate", 1000)
        java = json.loads(self.swipr("report", "--json", recording).out)["java"]
        self.assertEqual(self.finish(program).strip(), "whole")  # the files of a root are found by way of it
        stacks = self.convert(recording, "collapsed")
        storm = [s for s in stacks if s.thread == "storm" and s.frames != ["[no stack]"]]
        whole = sum(s.weight for s in storm if re.match(ROOT, s.frames[0]))
        self.assertGreaterEqual(whole, 0.97 * profiles.total(storm))
        running = [s for s in storm if any(f.startswith("java.lang.Thread.run") for f in s.frames)]
        self.assertGreater(profiles.total(running), 0.5 * profiles.total(storm))
        # The serial one works in the VM's thread, where functions tell; the library of 8 has no symbols.
        if version_of(path) > 8 or option != "-XX:+UseSerialGC":
            self.assertGreater(java["collectors_ns"], 0)
        self.assertLess(java["collectors_ns"] + java["compilers_ns"] + java["machine_ns"], java["cpu_ns"])
        lost = sum(s.weight for s in storm if "[function gone]" in s.frames)
        self.assertLessEqual(lost, 0.02 * profiles.total(storm))  # of classes that are gone

    def test_native_library(self):
        """Native code between Java's frames stands between them."""
        self.for_each_machine(self.check_native_library, "Native", self.compile_c("library", "-shared", "-fPIC"))

    def compile_c(self, name, *options):
        home = pathlib.Path(shutil.which("javac")).resolve().parent.parent
        subprocess.run(["cc", "-O2", *options, f"-I{home}/include", f"-I{home}/include/linux", SOURCES / f"{name}.c", "-o",
                        self.folder / name], check=True)
        return self.folder / name

    def check_native_library(self, path, name, library):
        self.check_native_code(self.run_java(path, name, arguments=[library]))

    def check_native_code(self, program):
        recording = self.record(program.pid, "--count", 1000, "--interval", "1ms")
        self.finish(program)
        stacks = [s for s in self.convert(recording, "collapsed") if s.thread == "worker"]
        self.check_whole(stacks, "worker", 0.95)
        chain = r"Native\.outer .*;Native\.enter .*;Java_Native_enter;native_middle;.*;Native\.back "
        inside = [s for s in stacks if any(frame.startswith("Native.back ") for frame in s.frames)]
        self.assertGreater(profiles.total(inside), 0.5 * profiles.total(stacks))
        for stack in inside:
            if re.match(ROOT, stack.frames[0]):
                self.assertRegex(";".join(stack.frames), chain)
        return recording

    @unittest.skipIf(root.current(), "the program is not one of the root")
    def test_machine_that_a_program_embeds(self):
        library, host = self.compile_c("library", "-shared", "-fPIC"), self.compile_c("embedding")
        self.for_each_machine(self.check_embedded, "Native", host, library)

    def check_embedded(self, path, name, host, library):
        machine = next(pathlib.Path(path).parent.parent.glob("lib/**/server/libjvm.so"))
        program = self.start(host, machine, self.folder, name, library, preloaded=True)
        program.wait_ready()
        recording = self.check_native_code(program)
        main = [s for s in self.convert(recording, "collapsed") if any(f.startswith("Native.main ") for f in s.frames)]
        self.assertTrue(main)
        for stack in main:
            self.assertRegex(";".join(stack.frames), r"^_start;.*;main;(.*;)?host_main;.*;Native\.main .*read")

    def test_virtual_threads(self):
        """A running one has its own frames above those of its carrier; those that it has not returned to are said
        to be parked."""
        self.compile("Virtual")
        paths = [path for path in machines() if version_of(path) >= FIRST_VIRTUAL]
        for path in paths:
            for option in ("-Xint", "-Xmixed"):
                with self.subTest(machine=path, option=option):
                    self.check_virtual_threads(path, option)

    def check_virtual_threads(self, path, option):
        program = self.run_java(path, "Virtual", option)
        recording = self.record(program.pid, "--count", 1000, "--interval", "2ms")
        self.finish(program)
        stacks = self.convert(recording, "collapsed")
        self.assertFalse(profiles.has_function(stacks, r"^Virtual\.stays "), "a parked thread is on no stack")
        burning = [s for s in stacks if "Virtual.burn (Virtual.java)" in s.frames]
        rooted = [s for s in burning if re.match(ROOT, s.frames[0])]
        self.assertGreater(profiles.total(rooted), 0.95 * profiles.total(burning))
        seen = collections.Counter()
        for stack in rooted:
            names = [name[1] for f in stack.frames if (name := re.match(r"Virtual\.(\w+) \(", f))]
            self.assertIn("jdk.internal.vm.Continuation.run", ";".join(stack.frames))
            whole = ["fresh", "middle", "inner"] if "inner" in names else ["resumed", "above", "continued"]
            whole.append("burn")
            self.assertEqual(names, whole[-len(names):], stack.frames)
            parked = "[parked frames]" in stack.frames
            self.assertEqual(parked, names != whole, stack.frames)
            if parked:
                at = stack.frames.index("[parked frames]")
                self.assertTrue(stack.frames[at + 1].startswith("Virtual."), stack.frames)
                self.assertIn("Continuation.run", stack.frames[at - 1])
            seen[whole[0], parked] += stack.weight
        self.assertGreater(seen["fresh", False], 50)
        self.assertGreater(seen["resumed", True], 50)

    def test_selected_frames(self):
        self.compile("Shares")
        program = self.run_java(machines()[0], "Shares")
        recording = self.record(program.pid, "--count", 300)
        said = self.swipr("doctor", "--pid", program.pid).out.decode()
        self.assertRegex(said, r"java \d+: frames are read")
        self.finish(program)
        language = self.convert(recording, "collapsed", "--frames", "language")
        with_java = [s for s in language if java_frames(s)]
        self.assertTrue(with_java)
        for stack in with_java:
            self.assertEqual([f for f in stack.frames if re.search(r"(?i)libjvm|clone3?$|\+0x", f)], [])
        for stack in self.convert(recording, "collapsed", "--frames", "native"):
            self.assertEqual(java_frames(stack), [])

    @unittest.skipIf(root.current(), "swipr starts no program inside the root")
    def test_started_with_the_recording(self):
        """The virtual machine is found once it has started, and its runtime is in the recording."""
        self.compile("Shares")
        for path in machines():
            with self.subTest(machine=path):
                out = self.folder / "started.swipr"
                self.swipr("record", "--count", 200, "-o", out, "--", path, "-cp", self.folder, "Shares",
                           stdin_bytes=b"")
                stacks = self.convert(out, "collapsed")
                self.assertTrue([s for s in stacks if java_frames(s)])

    def test_switched_off(self):
        self.compile("Shares")
        program = self.run_java(machines()[0], "Shares", env={"SWIPR_RUNTIMES": "0"})
        recording = self.record(program.pid, "--count", 100)
        self.finish(program)
        stacks = self.convert(recording, "collapsed")
        self.assertTrue(stacks)
        self.assertEqual([s for s in stacks if java_frames(s)], [])


if __name__ == "__main__":
    unittest.main()
