"""Addresses spread over real programs: functions, inlined functions, files and lines are those of
llvm-symbolizer and eu-addr2line wherever these two agree. Prints the agreement, and each address
where swipr is alone, with all three answers.

usage: oracle_test.py [--count N] SYMBOLIZE_NAMES FILE…
"""

import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from support import sampling  # noqa: E402

LEAST_PER_CENT = 99.5


def code_of(path):
    """Start and size of the file's .text."""
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\] \.text\s+PROGBITS\s+(\w+) \w+ (\w+)", sections)
    return int(found[1], 16), int(found[2], 16)


def run(command, addresses):
    """What it prints; eu-addr2line fails for one unknown address, so the answers are counted instead."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    return subprocess.run(command, input=text, capture_output=True, text=True).stdout


def frame(function, place):
    path, _, line = place.partition(":")
    path = re.sub(r" \(discriminator \d+\)$", "", path)
    line = re.match(r"\d*", line)[0]
    return plain_name(function), plain_path(path), int(line or 0)


def plain_name(name):
    """Without what is written differently: spaces, parameters, versions, suffixes of copies."""
    name = re.sub(r"\.(cold|part|constprop|isra|lto_priv|llvm)\b.*$", "", name)
    name = re.sub(r" \[clone [^]]*\]", "", name)
    return re.sub(r"@.*$", "", name).replace(" ", "").replace("(anonymousnamespace)", "<anonymous>")


def plain_path(path):
    return "" if path in ("", "??") else os.path.normpath(path)


def chains_of_blocks(text):
    """llvm-symbolizer's style: lines of function and file:line[:column], an empty line behind each address."""
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if len(lines) > 1:
            yield [frame(*pair) for pair in zip(lines[::2], lines[1::2])]


def chains_of_eu(text, count):
    """eu-addr2line's style with -a: an address, then lines of function and file:line:column."""
    chains = []
    lines = iter(text.split("\n"))
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]{8,}", line):
            chains.append([])
        elif line:
            function = line.split(" inlined at ")[0]
            chains[-1].append(frame(function, next(lines)))
    assert len(chains) == count, f"eu-addr2line answered {len(chains)} of {count}"
    return chains


def same_file(left, right):
    """One of them may lack the folder that a relative path starts in."""
    return left == right or left.endswith("/" + right) or right.endswith("/" + left)


def same_function(left, right, aliases):
    """Both others call what has no linkage name by its bare name: "f" is "space::f". One place may
    have several names, of which each chooses its own."""
    return left == right or left.endswith("::" + right) or left in aliases.get(right, ())


def same(left, right, aliases):
    return len(left) == len(right) and all(
        same_function(a[0], b[0], aliases) and same_file(a[1], b[1]) and a[2] == b[2]
        for a, b in zip(left, right)
    )


def aliases_of(path):
    """Of each symbol that shares its address: all of them."""
    by_address = collections.defaultdict(set)
    debug = subprocess.run(["eu-unstrip", "-n", "-e", path], capture_output=True, text=True, check=True).stdout.split()
    for file in {path, *(word for word in debug if word.startswith("/") and os.path.exists(word))}:
        table = subprocess.run(["nm", "-C", file], capture_output=True, text=True).stdout
        table += subprocess.run(["nm", "-C", "-D", file], capture_output=True, text=True).stdout
        for line in table.splitlines():
            address, _, rest = line.partition(" ")
            if len(address) == 16 and rest[0] in "tTwWiV":
                by_address[address].add(plain_name(rest[2:]))
    return {name: names for names in by_address.values() for name in names if len(names) > 1}


def compare(names_program, path, count, totals):
    start, size = code_of(path)
    addresses = random.Random(sampling.seed()).sample(range(start, start + size), min(count, size))
    ours = list(chains_of_blocks(run([names_program, path], addresses)))
    llvm = list(chains_of_blocks(run(["llvm-symbolizer", "-e", path], addresses)))
    eu = chains_of_eu(run(["eu-addr2line", "-a", "-i", "-f", "-C", "-e", path], addresses), len(addresses))
    assert len(ours) == len(llvm) == len(addresses), (path, len(ours), len(llvm))
    aliases = aliases_of(path)
    here = collections.Counter()
    for address, own, first, second in zip(addresses, ours, llvm, eu):
        agree = same(first, second, aliases) and first[0][0] != "??"
        here["addresses"] += 1
        here["agreed"] += agree
        here["same"] += agree and same(own, first, aliases)
        here["as one of them"] += not agree and any(same(own, other, aliases) for other in (first, second))
        if agree and not same(own, first, aliases):
            print(f"{path} {address:#x}\n  swipr {own}\n  both  {first}")
    print(f"{os.path.basename(path)}: {dict(here)}")
    totals.update(here)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10000, help="addresses, over all files")
    parser.add_argument("names_program")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    for tool in ("llvm-symbolizer", "eu-addr2line", "readelf"):
        if shutil.which(tool) is None:
            sys.exit(f"oracle_test: {tool} is missing: scripts/install_dependencies test")
    totals = collections.Counter()
    for path in options.files:
        compare(options.names_program, path, options.count // len(options.files), totals)
    agreement = 100 * totals["same"] / max(1, totals["agreed"])
    print(
        f"{totals['addresses']} addresses; the two others agree on {totals['agreed']}, swipr with them on "
        f"{totals['same']} ({agreement:.2f} %); elsewhere it says what one of them says on {totals['as one of them']}"
    )
    if totals["agreed"] < totals["addresses"] / 10 or agreement < LEAST_PER_CENT:
        sys.exit(f"oracle_test: at least {LEAST_PER_CENT} % are wanted")


if __name__ == "__main__":
    main()
