"""The table of aims at the top of docs/PERFORMANCE.md: each aim and the current figure of its section."""
import re

TITLE = "Aims"
# what, aim, section, beginning of the row, column (from 0)
AIMS = [
    ("walk of 35 frames, warm", "≤ 400 ns", "Unwinding", "walk of 35 frames, warm", 2),
    ("walk, cold", "≤ 10 µs", "Unwinding", "walk, cold", 2),
    ("libunwind's `unw_step` in comparison", "≥ 25 times", "Unwinding", "libunwind's `unw_step`", 2),
    ("handler, median", "≤ 1.5 µs", "Unwinding", "handler, entry to return", 2),
    ("handler, 99th percentile", "≤ 8 µs", "Unwinding", "handler, 99th percentile", 2),
    ("5 frames of Python in the handler", "≤ 2 µs", "Frames of languages", "5 frames of Python", 2),
    ("100 frames of Python in the handler", "≤ 5 µs", "Frames of languages", "100 frames of Python", 2),
    ("unwind table, libc", "≤ 3.2 ms per MB", "Unwinding", "table of libc,", 2),
    ("unwind table, libcrypto", "≤ 3.2 ms per MB", "Unwinding", "table of libcrypto,", 2),
    ("unwind table, libLLVM", "≤ 3.2 ms per MB", "Unwinding", "table of libLLVM,", 2),
    ("loss of a busy thread at 1 kHz, beyond an empty handler", "≤ 0.3 %", "What recording costs a busy thread",
     "1 busy thread, 1 kHz", 3),
    ("loss of a busy thread at 10 kHz, the same", "≤ 2.5 %", "What recording costs a busy thread",
     "1 busy thread, 10 kHz", 3),
    ("1,000 blocked threads at 100 Hz, the same", "≤ 3 %", "What recording costs programs with many threads",
     "1,000 blocked", 3),
    ("10,000 blocked threads at 10 Hz, the same", "≤ 5 %", "What recording costs programs with many threads",
     "10,000 blocked", 3),
    ("2,000 waking threads at 100 Hz, the same", "≤ 5 %", "What recording costs programs with many threads",
     "2,000 waking", 3),
    ("p99 of latency, upper bound of the ratio", "≤ 1.05", "Latency as the program's clients see it", "p99 ", 4),
    ("memory of 64 threads after 10 minutes", "≤ 24 MiB", "Memory over minutes", "10 ", 1),
    ("wake-ups at rest in 5 s", "0", "The preload without a client", "wake-ups", 1),
    ("50,000 addresses, functions and lines", "≤ 1/4 of llvm-symbolizer's s", "Symbolization", "swipr ", 1),
    ("… llvm-symbolizer", "", "Symbolization", "llvm-symbolizer ", 1),
    ("50,000 addresses from the cache", "≤ 0.3 s", "Symbolization", "swipr, again", 1),
    ("500,000 symbols, the first name", "≤ 0.15 s", "Symbolization", "swipr, the first name", 1),
    ("1,000,000 samples to pprof", "≤ 1.5 s", "Conversion", "pprof ", 2),
    ("1,000,000 samples to collapsed", "≤ 1.5 s", "Conversion", "collapsed ", 2),
    ("1,000,000 samples to speedscope", "≤ 1.5 s", "Conversion", "speedscope ", 2),
]


def _cell(text, section, row, column):
    found = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    line = found and re.search(rf"^\| {re.escape(row)}.*$", found[1], re.M)
    return line[0].strip("| ").split(" | ")[column].strip() if line else "not measured"


def rows(text):
    """(what, aim, now, section) from the document's other sections."""
    for what, aim, section, row, column in AIMS:
        yield what, aim, _cell(text, section, row, column), section
