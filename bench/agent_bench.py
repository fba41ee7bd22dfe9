#!/usr/bin/env python3
"""What `swipr agent` costs a host with many processes; prints a section of docs/PERFORMANCE.md.

usage: bench/agent_bench.py [PROCESSES] [BUSY] [SLICES]      (default: 500 50 8; needs build/release)
Of the processes, programs of Python, BUSY use 2 % of a CPU each; the others sleep. Slices of 15 s are written
into files. The costs of the first slice, in which all processes are recorded, are not measured.
"""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build/release"
SLICE_SECONDS = 15
PROGRAM = """
import os, sys, threading, time
share = float(sys.argv[1])
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
while True:
    begin = time.thread_time()
    while share and time.thread_time() - begin < share * 0.1:
        sum(range(2000))
    time.sleep(0.1 if share else 3600)
"""


def cpu_seconds(pid):
    """With those of ended children."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def share_of(pids, seconds):
    """Percent of one CPU, over that time."""
    before, begin = sum(map(cpu_seconds, pids)), time.monotonic()
    time.sleep(seconds)
    return 100 * (sum(map(cpu_seconds, pids)) - before) / (time.monotonic() - begin)


def counter(folder, name):
    lines = (folder / "metrics").read_text().splitlines()
    return next(line.split()[-1] for line in lines if line.startswith(f"swipr_agent_{name} "))


def main(count=500, busy=50, slices=8):
    with tempfile.TemporaryDirectory(prefix="swipr-bench-") as name:
        folder = pathlib.Path(name)
        (folder / "sockets").mkdir(mode=0o700)
        (folder / "program.py").write_text(PROGRAM)
        environment = {**os.environ, "SWIPR_SOCKET_DIR": f"{folder}/sockets", "XDG_CACHE_HOME": f"{folder}/cache"}
        preloaded = {**environment, "LD_PRELOAD": f"{BUILD}/preload/libswipr_preload.so"}
        read_end, write_end = os.pipe()
        programs = [subprocess.Popen([sys.executable, folder / "program.py", str(0.02 if index < busy else 0)], env=preloaded,
                                     stdin=read_end) for index in range(count)]
        os.close(read_end)
        time.sleep(5)
        pids = [program.pid for program in programs]
        alone = share_of(pids, SLICE_SECONDS)
        agent = subprocess.Popen([BUILD / "cli/swipr", "agent", "--socket-dir", folder / "sockets", "--slice", f"{SLICE_SECONDS}s",
                                  "--output-dir", folder / "out", "--metrics-file", folder / "metrics", "--log-file",
                                  folder / "log"], env=environment)
        time.sleep(2 * SLICE_SECONDS)
        used, before, begin = cpu_seconds(agent.pid), sum(map(cpu_seconds, pids)), time.monotonic()
        states = []  # each minute: MiB, descriptors
        for _ in range(max(1, slices * SLICE_SECONDS // 60)):
            time.sleep(min(60, slices * SLICE_SECONDS))
            states.append((resident_mib(agent.pid), len(os.listdir(f"/proc/{agent.pid}/fd"))))
        seconds = time.monotonic() - begin
        own = 100 * (cpu_seconds(agent.pid) - used) / seconds
        recorded = 100 * (sum(map(cpu_seconds, pids)) - before) / seconds
        memory = [state[0] for state in states]
        descriptors = {state[1] for state in states}
        peak, targets = int(counter(folder, "export_peak_bytes")) / 2**20, counter(folder, "targets_recorded")
        agent.terminate()
        agent.wait()
        os.close(write_end)
        for program in programs:
            program.wait()
        accounts = [json.loads(pathlib.Path(path).read_text()) for path in sorted(glob.glob(f"{folder}/out/profile_*.json"))]
    rest = {}
    for one in accounts:
        for process in one["processes"]:
            for reason, time_ns in process["unrecorded_ns"].items():
                rest[reason] = rest.get(reason, 0) + time_ns
    explained = sum(one["recorded_ns"] for one in accounts) / sum(one["cpu_ns"] for one in accounts)
    print(f"| processes, of them recorded | {count}, {targets} |\n| CPU time of agent and workers | {own:.1f} % of a CPU |\n"
          f"| memory of the agent after one minute, after {len(states)}; of a worker | "
          f"{memory[0]:.1f} MiB, {memory[-1]:.1f} MiB; {peak:.0f} MiB |\n"
          f"| open descriptors, least and most of {len(states)} looks | {min(descriptors)}, {max(descriptors)} |\n"
          f"| the processes alone, recorded | {alone:.1f} %, {recorded:.1f} % of a CPU |\n"
          f"| their CPU time that stacks explain | {100 * explained:.1f} % |\n"
          f"| the rest | {', '.join(f'{reason} {time_ns / 1e9:.1f} s' for reason, time_ns in rest.items())} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
