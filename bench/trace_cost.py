#!/usr/bin/env python3
"""What a traced call costs, and what tracing takes of the program's memory. A leaf that is called all the time, in turns
untraced, traced, and traced with calls from another place only; and calls of 20 microseconds, of which all are slow.
usage: bench/trace_cost.py BUILD_FOLDER [ROUNDS]"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15
sys.path.insert(0, str(ROOT / "tests"))
os.environ.update(SWIPR=str(BUILD / "cli/swipr"), SWIPR_PRELOAD=str(BUILD / "preload/libswipr_preload.so"),
                  SWIPR_TARGETS=str(BUILD / "tests/targets"))

from support import products, tracing  # noqa: E402


class Program:
    def __init__(self, name, folder):
        self.file = products.target(name)
        self.process = subprocess.Popen([self.file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "LD_PRELOAD": os.environ["SWIPR_PRELOAD"],
                                             "SWIPR_SOCKET_DIR": folder})
        self.process.stdout.readline()
        self.place = pathlib.Path(folder) / f"{self.process.pid}.sock"
        while not self.place.exists():
            time.sleep(0.01)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def trace(self, suffix, **fields):
        address = next(address for name, address in tracing.functions(self.file).items() if name.endswith(suffix))
        stream = tracing.Stream(self.place, [(address, self.file)], **fields)
        probe, = stream.read_answers(1)
        assert probe.state == tracing.ATTACHED, probe.text
        return stream

    def resident_kib(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return sum(int(value) for value in re.findall(r"^Private_\w+: +(\d+) kB", text, re.M))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def spread(costs):
    quantiles = statistics.quantiles(costs, n=20)
    return f"{statistics.median(costs):.1f} ns (p5 {quantiles[0]:.1f}, p95 {quantiles[-1]:.1f})"


def measure_leaf(folder):
    program = Program("chaotic_nofp", folder)

    def ns_per_call():
        return 300e6 / int(program.ask("hot 300"))

    leaf = next(address for name, address in tracing.functions(program.file).items() if name.endswith("6tripleEl"))
    site = f"0x{leaf + 1:x} build-id {products.build_id(program.file)}"  # nothing returns there
    kinds = {"plain": {}, "from elsewhere (--at)": {"sites": site}, "followed, none slow": {"slower": "1 s"}}
    costs = {kind: [] for kind in kinds}
    attaches, detaches = [], []
    ns_per_call()
    before = program.resident_kib()
    memory = 0
    for _ in range(ROUNDS):
        untraced = ns_per_call()
        for kind, fields in kinds.items():
            begin = time.monotonic()
            stream = program.trace("6tripleEl", interval="100 ms", **fields)
            attaches.append((time.monotonic() - begin) * 1e3)
            costs[kind].append(ns_per_call() - untraced)
            memory = memory or program.resident_kib() - before
            begin = time.monotonic()
            stream.end()
            detaches.append((time.monotonic() - begin) * 1e3)
    program.end()
    for kind, all_costs in costs.items():
        print(f"cost of a call, {kind}: {spread(all_costs)} in {ROUNDS} rounds")
    print(f"request to answer: {statistics.median(attaches):.1f} ms; end: {statistics.median(detaches):.1f} ms")
    print(f"private memory while a function is traced in one thread: +{memory} KiB")


def measure_slow(folder):
    program = Program("calls_nofp", folder)

    def median_ns():
        durations = program.ask("spin 5000 20000 20000 2").split()
        return int(durations[len(durations) // 2])

    kinds = {"callers from 4 KiB": 8, "callers from 32 KiB": 256}
    costs = {kind: [] for kind in kinds}
    kept = {kind: 0 for kind in kinds}
    for _ in range(ROUNDS):
        stream = program.trace("timed_call", interval="10 ms")
        plain = median_ns()
        stream.end()
        for kind, frames in kinds.items():
            stream = program.trace("timed_call", interval="10 ms", timeInterval="1 ms", slower="1 us", frames=frames)
            costs[kind].append(median_ns() - plain)
            stream.end()
            kept[kind] += len(stream.slow_calls())
    program.end()
    for kind, all_costs in costs.items():
        share = kept[kind] / (5000 * ROUNDS)
        print(f"more for a slow call, {kind}: {spread(all_costs)}; {share:.0%} of them told")


def main():
    with tempfile.TemporaryDirectory() as folder:
        measure_leaf(folder)
        measure_slow(folder)


main()
