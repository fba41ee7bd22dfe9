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
    expect(pprof(profile, "-raw"),
           r"^Period: 10000000$",
           r"cpu/nanoseconds wall/nanoseconds blocked/nanoseconds runqueue/nanoseconds samples/count\[dflt\]",
           r"^ +19000000 +20000000 +500000 +500000 +2: 3 2 1 *$",
           r"^ +state:\[running\] thread:\[golden\]$",
           r"^ +tid:\[100\]$",
           r"^ +3: 0x555555555333 M=2 mix\(unsigned int\) /src/golden/mix\.h:12(:0)? s=7\(_Z3mixj\)$",
           r"^ +\(anonymous namespace\)::burn\(std::vector<int> const&\) /src/golden/main\.cc:17(:0)? s=12",
           r"^2: 0x555555555000/0x555555565000/0x1000 /opt/golden/bin/golden c0ffee01 \[FN\]\[FL\]\[LN\]\[IN\]$")
    print("go tool pprof: -top and -raw are right")


main()
