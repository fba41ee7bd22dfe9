#!/usr/bin/env python3
"""Counts the instructions of a walk on this machine (callgrind) and on aarch64 (qemu), where times say nothing.

usage: bench/instructions/count.py X86_64_PROGRAM AARCH64_PROGRAM
Both are walk_instructions, of builds with -DSWIPR_BENCH=ON. Needs valgrind and `scripts/install_dependencies aarch64`.
Takes two minutes.
"""

import re
import subprocess
import sys

WALKS = 200
EMULATOR = ("qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu")
ROW = "| {} | {:,.0f} | {} | {:.0f} |"


def by_callgrind(program, walks):
    said = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(walks)],
                          check=True, capture_output=True, text=True).stderr
    return int(re.search(r"Collected : (\d+)", said)[1])


def by_qemu(program, walks):
    """A line of qemu's log for each instruction."""
    command = [*EMULATOR, "-singlestep", "-d", "exec,nochain", "-D", "/dev/stderr", program, str(walks)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        count = sum(line.startswith(b"Trace") for line in running.stderr)
    if running.returncode != 0:
        sys.exit(f"count: {program}: exit code {running.returncode}")
    return count


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print("| machine | instructions of a walk | frames | per frame |\n|---|---|---|---|")
    for name, program, emulator, count in (("x86-64", sys.argv[1], (), by_callgrind),
                                           ("aarch64", sys.argv[2], EMULATOR, by_qemu)):
        frames = int(subprocess.run([*emulator, program, "1"], check=True, capture_output=True).stdout)
        # All that happens once is in both.
        instructions = (count(program, 1 + WALKS) - count(program, 1)) / WALKS
        print(ROW.format(name, instructions, frames, instructions / frames))


if __name__ == "__main__":
    main()
