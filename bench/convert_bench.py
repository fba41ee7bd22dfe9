#!/usr/bin/env python3
"""Measures what converting a large recording costs: 1,000,000 samples in 20,000 distinct stacks of 30 frames in 30
modules, made by make_recording, names warm in the page cache.

usage: bench/convert_bench.py [--build FOLDER] [--samples N] [--rounds N]

Prints one line per format: median and best of the rounds (wall time), CPU time, the largest memory. perf text is
compared, in turns, with loops that write the text's own blocks to the same place, of one sample each, in its order (each
stack's is rendered and in memory before), as many per call as make 64 KiB, and as many as a call takes. TMPDIR says
where. Exit code 1 if something failed, not if something is slow.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = 30
FUNCTIONS = 700
STACKS = 20_000
DEPTH = 30
IOV_MAX = 1024  # Linux, uio.h
WRITE_BYTES = 64 * 1024


def make_libraries(folder):
    """30 libraries with functions of their own names, with line information."""
    source = folder / "functions.cc"
    body = "\n".join(f"  [[gnu::noinline]] int step_{number}(int value) {{ for (int i = 0; i < value; ++i) "
                     f"value ^= {number} * i + value / 3; return value; }}" for number in range(FUNCTIONS))
    source.write_text(f"namespace MODULE {{ struct Work {{\n{body}\n}};\n int run(int value) {{ Work work; return "
                      + " + ".join(f"work.step_{number}(value)" for number in range(FUNCTIONS)) + "; }\n}\n")
    libraries = []
    for number in range(MODULES):
        library = folder / f"libmodule_{number:02}.so"
        subprocess.run(["g++", "-std=c++17", "-O1", "-g", "-fPIC", "-shared", f"-DMODULE=module_{number:02}",
                        "-o", library, source], check=True)
        libraries.append(library)
    return libraries


def settle(output):
    """Writes the dirty pages of earlier runs, so that they do not slow down the next one."""
    output.unlink(missing_ok=True)
    os.sync()


def measure(command, output):
    """Wall seconds, CPU seconds and largest memory in MiB of one run."""
    settle(output)
    with open(output, "wb") as sink:
        start = time.monotonic()
        child = subprocess.Popen(command, stdout=sink, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def sample_blocks(path):
    """The text of each sample, in order. Each stack occurs once, with the head line of its first sample."""
    blocks, order, rest = {}, [], b""
    with open(path, "rb") as file:
        while piece := file.read(1 << 26):
            *whole, rest = (rest + piece).split(b"\n\n")
            for text in whole:
                order.append(blocks.setdefault(text[text.index(b"\n"):], text + b"\n\n"))
    return order


def write_loop(path, blocks, count):
    """Bytes per second of a loop that writes these, `count` at a time."""
    settle(path)
    start = time.monotonic()
    with open(path, "wb", buffering=0) as sink:
        for first in range(0, len(blocks), count):
            batch = blocks[first:first + count]
            if os.writev(sink.fileno(), batch) != sum(map(len, batch)):
                sys.exit(f"short write to {path}")
    return path.stat().st_size / (time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", default="pprof,collapsed,speedscope,html,firefox,report,perf")
    options = parser.parse_args()
    swipr = options.build / "cli/swipr"
    with tempfile.TemporaryDirectory(prefix="swipr-convert-") as name:
        folder = pathlib.Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        libraries = make_libraries(folder)
        recording = folder / "large.swipr"
        subprocess.run([options.build / "bench/make_recording", recording, str(options.samples), str(STACKS),
                        str(DEPTH), *libraries], check=True)
        print(f"recording: {options.samples:,} samples, {recording.stat().st_size / 1e6:.1f} MB", flush=True)
        output = folder / "output"
        for kind in options.formats.split(","):
            command = [swipr, "report", recording] if kind == "report" else \
                [swipr, "convert", "--format", kind, recording]
            runs, blocks, loops = [], [], {}
            for turn in range(options.rounds):
                runs.append(measure(command, output))
                size = output.stat().st_size
                if kind == "perf" and turn == 0:
                    blocks = sample_blocks(output)
                    loops = {count: [] for count in (WRITE_BYTES * len(blocks) // size, IOV_MAX)}
                for count, rates in loops.items():
                    rates.append(write_loop(output, blocks, count))
            wall, cpu, memory = zip(*runs)
            print(f"{kind:10} {statistics.median(wall):6.2f} s, best {min(wall):6.2f} s  CPU {statistics.median(cpu):6.2f} s  "
                  f"{max(memory):6.0f} MiB  {size / 1e6:8.1f} MB", flush=True)
            for count, rates in loops.items():
                seconds = size / statistics.median(rates)
                print(f"  a loop that writes {count} of its blocks at a time: {seconds:.2f} s, best {size / max(rates):.2f} s; perf text at "
                      f"{100 * seconds / statistics.median(wall):.0f} % of its rate in medians, {100 * size / max(rates) / min(wall):.0f} % at best",
                      flush=True)


if __name__ == "__main__":
    main()
