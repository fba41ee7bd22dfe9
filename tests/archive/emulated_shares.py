#!/usr/bin/env python3
"""What recordings of bench/languages say, and what the programs themselves have said.

usage: PYTHONPATH=tests tests/archive/emulated_shares.py SWIPR FOLDER NAME…
FOLDER has NAME.swipr, and NAME.truth with the program's answers to `mark`. A line for each; exit code 1: a stack has
functions in a wrong order, fewer than 95 % of the innermost ones have all callers, or a share differs by more than 25
points: in an emulator many ticks come late.
"""

import pathlib
import re
import subprocess
import sys

from support import profiles

PARTS = ("seventy", "twenty", "ten")
MOST_POINTS = 25
# Of a method that is inlined into itself Java may show one more: places in compiled code lean to safepoints.
WHOLE = re.compile(r"work (seventy|twenty|ten) burn( chain){9,10} spin")
ORDER = re.compile(r"work( (seventy|twenty|ten)( burn( chain){0,10}( spin)?)?)?")


def own_functions(frames):
    names = [re.sub(r"^.*[.#]", "", frame.split(" (")[0]) for frame in frames]
    return [name for name in names if name in ("work", *PARTS, "burn", "chain", "spin")]


def truth(path):
    """Of its last answer."""
    for line in reversed(path.read_text().splitlines()):
        words = line.split()
        if len(words) == 4 and all(word.isdigit() for word in words):
            used = [int(word) for word in words[1:]]
            return [100 * part / max(sum(used), 1) for part in used]
    return None


def check(swipr, folder, name):
    recording = folder / f"{name}.swipr"
    told = truth(folder / f"{name}.truth")
    text = subprocess.run([swipr, "convert", "--format", "collapsed", "--weight", "samples", "--frames", "language",
                           recording, "-o", "-"], check=True, capture_output=True).stdout
    stacks = [(own_functions(stack.frames), stack.weight) for stack in profiles.parse_collapsed(text)]
    wrong = sum(weight for names, weight in stacks if names and not ORDER.fullmatch(" ".join(names)))
    inner = sum(weight for names, weight in stacks if "spin" in names)
    whole = sum(weight for names, weight in stacks if WHOLE.fullmatch(" ".join(names)))
    parts = [sum(weight for names, weight in stacks if part in names) for part in PARTS]
    if not sum(parts) or not told:
        print(f"{name}: no functions of the program" if told else f"{name}: the program has not said its shares")
        return False
    own = sum(weight for names, weight in stacks if names)
    seen = [100 * part / sum(parts) for part in parts]
    print(f"{name}: {', '.join(f'{share:.1f}' for share in seen)} % where the program says "
          f"{', '.join(f'{share:.1f}' for share in told)}; {own:.0f} samples, {wrong:.0f} in a wrong order, "
          f"{100 * whole / max(inner, 1):.1f} % of {inner:.0f} in spin with all callers")
    return wrong == 0 and whole >= 0.95 * inner > 0 and all(abs(a - b) <= MOST_POINTS for a, b in zip(seen, told))


if __name__ == "__main__":
    results = [check(sys.argv[1], pathlib.Path(sys.argv[2]), name) for name in sys.argv[3:]]
    sys.exit(not all(results))
