#!/usr/bin/env python3
"""Reads the golden recording's pprof file with `go tool pprof`.

usage: go_pprof.py FOLDER       (with golden.pb.gz of write_golden)
"""
import os
import re
import shutil
import subprocess
import sys


def pprof(profile, *options):
    """Output of go tool pprof, which must neither fail nor ask the user anything."""
    # Newer Go builds its tools when they are first used: its cache stays where it is.
    environment = {**os.environ, "GOTOOLCHAIN": "local", "PPROF_TMPDIR": os.path.dirname(profile)}
    environment.setdefault("HOME", os.path.dirname(profile))
    done = subprocess.run(["go", "tool", "pprof", *options, profile], text=True, check=False,
                          capture_output=True, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"go tool pprof {' '.join(options)} failed:\n{done.stderr}")
    return done.stdout


def expect(output, *patterns):
    """Every pattern matches a line of its own, in this order."""
    at = 0
    for pattern in patterns:
        match = re.compile(pattern, re.MULTILINE).search(output, at)
        if not match:
            sys.exit(f"go tool pprof: no line (or none behind the one before) matches\n  {pattern}\nin\n{output}")
        at = match.end()


def numbered(raw, section):
    """Entries of a section of -raw: number → its lines, without number. Each Go numbers them its own way."""
    entries, number = {}, None
    for line in raw.split(f"\n{section}\n")[1].splitlines():
        start = re.match(r" *(\d+): (.*)", line)
        if start:
            number = start[1]
            entries[number] = [start[2]]
        elif number and line.startswith(" "):
            entries[number].append(line.strip())
        else:
            break
    return entries


def first_sample(raw):
    """The first sample of -raw: its values, its labels, and its stack, each frame as the lines of its location
    with the mapping's line in place of the mapping's number."""
    mappings = {number: lines[0] for number, lines in numbered(raw, "Mappings").items()}
    locations = numbered(raw, "Locations")
    lines = raw.split("\nSamples:\n")[1].splitlines()[1:]
    values, numbers = lines[0].split(":")
    labels = " ".join(line.strip() for line in lines[1:3])

    def frame(number):
        address, mapping, first = re.match(r"(0x[0-9a-f]+) M=(\d+) (.*)", locations[number][0]).groups()
        return [address, mappings[mapping], first, *locations[number][1:]]
    return values.split(), labels, [frame(number) for number in numbers.split()]


def expect_sample(raw):
    """The innermost frame is a pair of functions, one inlined; all three are in the program's own module."""
    values, labels, stack = first_sample(raw)
    if values != ["19000000", "20000000", "500000", "500000", "2"]:
        sys.exit(f"go tool pprof: the first sample has the values {values} in\n{raw}")
    if labels != "state:[running] thread:[golden] tid:[100]":
        sys.exit(f"go tool pprof: the first sample has the labels {labels} in\n{raw}")
    module = r"0x555555555000/0x555555565000/0x1000 /opt/golden/bin/golden c0ffee01 \[FN\]\[FL\]\[LN\]\[IN\]"
    frames = [
        [r"0x555555555333", module, r"mix\(unsigned int\) /src/golden/mix\.h:12(:0)? s=7\(_Z3mixj\)",
         r"\(anonymous namespace\)::burn\(std::vector<int> const&\) /src/golden/main\.cc:17(:0)? s=12"
         r"\(_ZN12_GLOBAL__N_14burnERKSt6vectorIiE\)"],
        [r"0x55555555520f", module, r"main /src/golden/main\.cc:40(:0)? s=35"],
        [r"0x555555555100", module, r"_start :0(:0)? s=0"]]
    same = [len(lines) for lines in stack] == [len(lines) for lines in frames]
    if not same or not all(re.fullmatch(pattern, line) for wanted, lines in zip(frames, stack)
                           for pattern, line in zip(wanted, lines)):
        sys.exit(f"go tool pprof: the first sample's stack is\n{stack}\nin\n{raw}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if shutil.which("go") is None:
        sys.exit("go_pprof: go is missing: run scripts/test, or scripts/install_dependencies test")
    profile = os.path.join(sys.argv[1], "golden.pb.gz")

    expect(pprof(profile, "-top"),
           r"^File: golden$",
           r"^Type: samples$",
           r"^Duration: 500ms, Total samples = 61 ?$",
           r"^ +55 90\.16% 90\.16% +55 90\.16% +__poll$",
           r"^ +3 +4\.92% +95\.08% +3 +4\.92% +mix\(unsigned int\) \(inline\)$",
           r"^ +0 +0% +100% +58 95\.08% +main$")
    # mix is inlined into burn: its time is burn's, too.
    expect(pprof(profile, "-top", "-sample_index=cpu"),
           r"Total samples = 22\.50ms",
           r"^ +20ms 88\.89% 88\.89% +20ms 88\.89% +mix\(unsigned int\) \(inline\)$",
           r"^ +0 +0% +100% +20ms 88\.89% +\(anonymous namespace\)::burn\(std::vector<int> const&\)$")
    expect(pprof(profile, "-top", "-sample_index=wall", "-tagfocus=state=blocked"),
           r"^ +550ms .*__poll$")
    raw = pprof(profile, "-raw")
    expect(raw,
           r"^Period: 10000000$",
           r"cpu/nanoseconds wall/nanoseconds blocked/nanoseconds runqueue/nanoseconds samples/count\[dflt\]")
    expect_sample(raw)
    # Percentages of a comparison are shares of the base, whose samples are labelled and negative.
    expect(pprof(os.path.join(sys.argv[1], "difference.pb.gz"), "-top"),
           r"Total samples = 37 ?$",
           r"^ +23 62\.16% 62\.16% +23 62\.16% +__poll$",
           r"^ +1 +2\.70% 64\.86% +1 +2\.70% +mix\(unsigned int\) \(inline\)$")
    print("go tool pprof: -top and -raw are right")


main()
