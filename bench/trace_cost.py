#!/usr/bin/env python3
"""What a traced call costs, and what tracing takes of the program's memory: a leaf that is called all the time, in
turns untraced and traced. usage: bench/trace_cost.py BUILD_FOLDER [ROUNDS]"""
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


def resident_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(value) for value in re.findall(r"^Private_\w+: +(\d+) kB", text, re.M))


def main():
    file = products.target("chaotic_nofp")
    with tempfile.TemporaryDirectory() as folder:
        program = subprocess.Popen([file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "LD_PRELOAD": os.environ["SWIPR_PRELOAD"],
                                        "SWIPR_SOCKET_DIR": folder})
        program.stdout.readline()
        place = pathlib.Path(folder) / f"{program.pid}.sock"
        while not place.exists():
            time.sleep(0.01)

        def ns_per_call():
            program.stdin.write("hot 300\n")
            program.stdin.flush()
            return 300e6 / int(program.stdout.readline())

        triple = next(address for name, address in tracing.functions(file).items() if name.endswith("6tripleEl"))
        costs, attaches, detaches = [], [], []
        ns_per_call()
        before = resident_kib(program.pid)
        for _ in range(ROUNDS):
            untraced = ns_per_call()
            begin = time.monotonic()
            stream = tracing.Stream(place, [(triple, file)], interval="100 ms")
            stream.read_answers(1)
            attaches.append((time.monotonic() - begin) * 1e3)
            costs.append(ns_per_call() - untraced)
            memory = resident_kib(program.pid) - before
            begin = time.monotonic()
            stream.end()
            detaches.append((time.monotonic() - begin) * 1e3)
        program.stdin.close()
        program.wait()
        quantiles = statistics.quantiles(costs, n=20)
        print(f"cost of a call: {statistics.median(costs):.1f} ns (p5 {quantiles[0]:.1f}, p95 {quantiles[-1]:.1f}) "
              f"in {ROUNDS} rounds")
        print(f"request to answer: {statistics.median(attaches):.1f} ms; end: {statistics.median(detaches):.1f} ms")
        print(f"private memory while a function is traced in one thread: +{memory} KiB")


main()
