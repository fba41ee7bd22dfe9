"""docs/PERFORMANCE.md: sections by heading, each rewritten by the script that measures it."""
import os
import pathlib
import platform
import re

INTRODUCTION = """# Performance

Every section says which script writes it; run it to get the figures of your machine. All comparisons are
interleaved in one run, and a figure is the median of ratios taken within a round.
"""


def machine():
    model = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return (f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores (virtual, shared), "
            f"kernel {platform.release().split('-')[0]}, {' '.join(platform.libc_ver())}")


def markdown_table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def replace_section(path, title, body):
    """Puts the section in its place, or at the end; what other scripts wrote stays."""
    text = path.read_text() if path.exists() else INTRODUCTION
    section = f"## {title}\n\n{body.strip()}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.M | re.S)
    if pattern.search(text):
        text = pattern.sub(lambda _: section + "\n", text)
    else:
        text = text.rstrip() + "\n\n" + section
    path.write_text(text.rstrip() + "\n")
