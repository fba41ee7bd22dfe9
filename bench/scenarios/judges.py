"""Profilers of one language each, beside swipr: what they see of a program whose truth is known, and what they cost.

A profiler that is not installed is "not available here". Searched in PATH: py-spy (PyPI), rbspy (crates.io);
SWIPR_ASYNC_PROFILER is the path of async-profiler's library (Maven: tools.profiler:async-profiler).
"""
import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time

from scenarios.bootstrap import bounds
from scenarios.guest import SWIPR, run
from scenarios.language_programs import (Shares, deviation, parse_collapsed, process_cpu, runtime_in_path,
                                         shares_of, text_of, truth, version)

# CPU ns per unit of work, and units per second.
Slice = collections.namedtuple("Slice", "cpu rate")
SHARE_COLUMNS = ("profiler", "samples", "truth in its time", "seen", "largest deviation")
COST_COLUMNS = ("profiler", "CPU time per unit of work", "95 % interval")


@contextlib.contextmanager
def as_process(words, output, wait, environment=None):
    """A profiler that is a process and ends at SIGINT."""
    process = subprocess.Popen([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait(output)
    yield process.pid
    process.send_signal(signal.SIGINT)
    process.wait()


def until_begun(output):
    while not output.exists() or output.stat().st_size == 0:
        time.sleep(0.01)
    time.sleep(0.3)


def swipr(program, rate, output):
    return as_process((SWIPR, "record", "--pid", program.process.pid, "--rate", rate, "--mode", "cpu", "-o", output),
                      output, until_begun, program.environment)


SLEEPER = """
import sys, time
interval = 1 / int(sys.argv[1])
due = time.monotonic()
while True:
    due += interval
    time.sleep(max(due - time.monotonic(), 0))
"""


def sleeper(program, rate, output):
    """No profiler: what waking up as often costs on this machine, with 2 µs of Python."""
    return as_process((sys.executable, "-c", SLEEPER, rate), output, lambda _: time.sleep(0.3))


def py_spy(program, rate, output):
    return as_process(("py-spy", "record", "-p", program.process.pid, "-r", rate, "-d", 1000, "-f", "raw", "-o", output),
                      output, lambda _: time.sleep(1.5))


def rbspy(program, rate, output):
    return as_process(("rbspy", "record", "--pid", program.process.pid, "--rate", rate, "--format", "collapsed", "--silent",
                       "--raw-file", f"{output}.raw", "--file", output), output, lambda _: time.sleep(1.5))


def _jcmd(program, text):
    done = run("jcmd", program.process.pid, "JVMTI.agent_load", os.environ["SWIPR_ASYNC_PROFILER"], f"\"{text}\"",
               stdout=subprocess.PIPE)
    if "return code: 0" not in done.stdout:
        raise RuntimeError(done.stdout)


@contextlib.contextmanager
def async_profiler(program, rate, output):
    _jcmd(program, f"start,event=itimer,interval={1_000_000_000 // rate}")
    yield None
    _jcmd(program, f"stop,collapsed,file={output}")


@contextlib.contextmanager
def cpu_prof(program, rate, output):
    program.command(f"profile {1_000_000 // rate}")
    yield None
    program.command(f"write {output}")


def read_swipr(output):
    def stacks(weight):
        return parse_collapsed(run(SWIPR, "convert", output, "--format", "collapsed", "--weight", weight, "--no-inlines",
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    return stacks("cpu"), sum(weight for _, weight in stacks("samples"))


def read_collapsed(output):
    stacks = parse_collapsed(output.read_text())
    return stacks, sum(weight for _, weight in stacks)


def read_cpu_prof(output):
    """Stacks, weighed by the time to the next sample."""
    profile = json.loads(output.read_text())
    nodes = {node["id"]: node for node in profile["nodes"]}
    parents = {child: node["id"] for node in profile["nodes"] for child in node.get("children", ())}

    def frames(identifier):
        found = []
        while identifier in nodes:
            found.append(nodes[identifier]["callFrame"]["functionName"])
            identifier = parents.get(identifier)
        return found[::-1]
    weights = profile["timeDeltas"][1:] + [0]
    return [(frames(node), weight) for node, weight in zip(profile["samples"], weights)], len(weights)


READERS = {swipr: read_swipr, cpu_prof: read_cpu_prof}
# By language: (name, how it starts, whether it is here).
JUDGES = {
    "Python": ("py-spy", py_spy, lambda: shutil.which("py-spy")),
    "Java": ("async-profiler (itimer)", async_profiler,
             lambda: shutil.which("jcmd") and os.environ.get("SWIPR_ASYNC_PROFILER")),
    "JavaScript": ("V8's profiler (--cpu-prof)", cpu_prof, lambda: True),
    "Ruby": ("rbspy", rbspy, lambda: shutil.which("rbspy")),
}


def profilers(language):
    """[(name, how it starts)], swipr first."""
    found = [("swipr", swipr)]
    if language in JUDGES and JUDGES[language][2]():
        found.append(JUDGES[language][:2])
    return found


def missing(language):
    """Names of judges that would be used and are not here."""
    return [JUDGES[language][0]] if language in JUDGES and not JUDGES[language][2]() else []


def judged(program, start, rate, seconds):
    """(shares, truth of the same time, samples)."""
    output = pathlib.Path(program.folder.name) / "judged"
    output.unlink(missing_ok=True)
    with start(program, rate, output):
        before = program.mark()
        time.sleep(seconds)
        after = program.mark()
    stacks, samples = READERS.get(start, read_collapsed)(output)
    return shares_of(stacks), truth(before, after), samples


def share_rows(program, seconds, rate=500):
    rows = []
    for name, start in profilers(program.language):
        shares, expected, samples = judged(program, start, rate, seconds)
        rows.append((name, f"{samples:,}", text_of(expected), text_of(shares),
                     f"{deviation(shares, expected):.1f} points"))
    return rows + [(name, "not available here", "", "", "") for name in missing(program.language)]


def slice_of(program, seconds, pid=None):
    """What a slice needs; `pid`: a profiler whose CPU time counts, too."""
    def other():
        return process_cpu(pid) if pid else 0
    begin, before, other_before = time.monotonic(), program.mark(), other()
    time.sleep(seconds)
    after, other_after, end = program.mark(), other(), time.monotonic()
    units = after.units - before.units
    return Slice((after.cpu - before.cpu + other_after - other_before) / units, units / (end - begin))


def profiled_slice(program, start, rate, seconds):
    output = pathlib.Path(program.folder.name) / "cost"
    output.unlink(missing_ok=True)
    with start(program, rate, output) as pid:
        return slice_of(program, seconds, pid)


def slices(program, rounds, seconds):
    """By profiler and rate: [(slice before, profiled slice, slice behind)]. Each round has all cases in turn."""
    started = [*profilers(program.language), ("a process that only wakes up", sleeper)]
    cases = [(f"{name}, {rate:,} Hz", start, rate) for name, start in started for rate in (100, 1000)]
    found = {name: [] for name, _, _ in cases}
    rest = slice_of(program, seconds)
    for number in range(rounds):
        for name, start, rate in cases[::-1 if number % 2 else 1]:
            work = profiled_slice(program, start, rate, seconds)
            before, rest = rest, slice_of(program, seconds)
            found[name].append((before, work, rest))
    return found


def change(slices_of_case, what):
    """(median change, its 95 % interval) of that property of slices."""
    changes = []
    for before, work, behind in slices_of_case:
        reference = (getattr(before, what) + getattr(behind, what)) / 2
        changes.append(100 * getattr(work, what) / reference - 100)
    low, high = bounds(changes)
    return f"{statistics.median(changes):+.1f} %", f"{low:+.1f} to {high:+.1f}"


def cost_rows(program, rounds, seconds):
    return [(name, *change(found, "cpu")) for name, found in slices(program, rounds, seconds).items()]


def measure(language, rounds, seconds):
    """(version, rows of shares, rows of costs) of the runtime in PATH, or the first one."""
    path = runtime_in_path(language)
    program = Shares(language, path)
    shares, costs = share_rows(program, 6 * seconds), cost_rows(program, rounds, seconds)
    program.end()
    return version(path), shares, costs
