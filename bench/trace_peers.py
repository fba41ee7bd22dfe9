#!/usr/bin/env python3
"""What a traced call costs below swipr and below other tracers: a function of two instructions that is called all
the time, in turns traced and not; each figure is the median of the rounds. Tracers that are not installed, or that
this machine refuses, are named. Prints the table of docs/TRACING.md.
usage: bench/trace_peers.py BUILD_FOLDER [ROUNDS]        as root (bpftrace, perf probe)"""
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
LEAF = "_ZN5swipr5trace6tripleEl"
FILE = BUILD / "tests/targets/chaotic_nofp"
SOURCES = ("tests/targets/guest/chaotic.cc", "tests/unit/preload/trace/checked_work.cc",
           "tests/unit/preload/trace/traced_functions.cc")


class Program:
    """A program that calls the function as often as it can when asked to."""

    def __init__(self, *command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL, env={**os.environ, **environment})
        assert self.process.stdout.readline() == "ready\n"

    def ns_per_call(self):
        self.process.stdin.write("hot 1000\n")
        self.process.stdin.flush()
        return 1000e6 / int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def attached(program, command, ready, **environment):
    """Nanoseconds per call while the tracer runs."""
    tracer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, **environment})
    ready()
    cost = program.ns_per_call()
    tracer.send_signal(signal.SIGINT)
    tracer.communicate(timeout=60)
    return cost


def measure(name, command, pause=2.0, **environment):
    """The rows of a tracer that attaches to a running program."""
    preload = {"LD_PRELOAD": str(BUILD / "preload/libswipr_preload.so"), **environment} if environment else {}
    program = Program(FILE, **preload)
    program.ns_per_call()
    costs = []
    for _ in range(ROUNDS):
        plain = program.ns_per_call()
        costs.append(attached(program, command(program.process.pid), lambda: time.sleep(pause), **environment) - plain)
    program.end()
    return name, statistics.median(costs)


def swipr(folder):
    return measure("`swipr latency`", lambda pid: [BUILD / "cli/swipr", "latency", "--pid", str(pid), "--max-overhead",
                                                   "1000%", "swipr::trace::triple"], SWIPR_SOCKET_DIR=folder)


def bpftrace_count(_):
    return measure("bpftrace, counts calls (uprobe)", lambda pid: [
        "bpftrace", "-p", str(pid), "-e", f"uprobe:{FILE}:{LEAF} {{ @calls = count(); }}"], 4)


def bpftrace(_):
    return measure("bpftrace, histogram (uprobe and uretprobe)", lambda pid: [
        "bpftrace", "-p", str(pid), "-e", f"uprobe:{FILE}:{LEAF} {{ @begin[tid] = nsecs; }} uretprobe:{FILE}:{LEAF} /@begin[tid]/"
        " { @ns = hist(nsecs - @begin[tid]); delete(@begin[tid]); }"], 4)


def perf_probe(_):
    subprocess.run(["perf", "probe", "-q", "-d", "probe_chaotic_nofp:*"], capture_output=True)
    subprocess.run(["perf", "probe", "-q", "-x", FILE, f"leaf={LEAF}"], check=True, capture_output=True)
    try:
        return measure("`perf probe`, counts calls (`perf stat`)", lambda pid: [
            "perf", "stat", "-e", "probe_chaotic_nofp:leaf", "-p", str(pid)])
    finally:
        subprocess.run(["perf", "probe", "-q", "-d", "probe_chaotic_nofp:*"], capture_output=True)


def gdb(folder):
    script = pathlib.Path(folder, "gdb")
    script.write_text(f"set pagination off\nbreak *{LEAF}\ncommands\nsilent\ncontinue\nend\ncontinue\n")
    return measure("gdb, a breakpoint that goes on", lambda pid: ["gdb", "-q", "-nx", "-batch", "-x", script, "-p", str(pid)])


def uftrace(folder):
    """Compiled for it: in turns by itself and below uftrace, which begins with the program."""
    program = pathlib.Path(folder, "compiled_pg")
    subprocess.run(["g++", "-std=c++20", "-O2", "-pg", "-no-pie", "-pthread", "-I", ROOT, *(ROOT / file for file in SOURCES),
                    "-o", program, "-ldl"], check=True, cwd=folder)
    costs = []
    for _ in range(ROUNDS):
        each = []
        for command in ([program], ["uftrace", "record", "--no-libcall", "-F", LEAF, "-d", f"{folder}/uftrace", program]):
            running = Program(*command)
            running.ns_per_call()
            each.append(running.ns_per_call())
            running.end()
        costs.append(each[1] - each[0])
        shutil.rmtree(f"{folder}/uftrace")
    return "uftrace, of a program compiled with `-pg`", statistics.median(costs)


def main():
    print("| tracer | a traced call |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for tracer in (swipr, uftrace, bpftrace_count, bpftrace, perf_probe, gdb):
            needed = {"swipr": "sh", "bpftrace_count": "bpftrace", "perf_probe": "perf"}.get(tracer.__name__, tracer.__name__)
            if shutil.which(needed) is None:
                print(f"| {tracer.__name__} | not installed |")
                continue
            name, cost = tracer(folder)
            print(f"| {name} | {cost:,.0f} ns |" if cost < 1000 else f"| {name} | {cost / 1000:,.1f} µs |", flush=True)


main()
