"""docs/PERFORMANCE.md: sections by heading, each rewritten by the script that measures it."""
import os
import pathlib
import platform
import re
import textwrap

from scenarios import acceptance, aims

INTRODUCTION = """# Performance

Each section names the script that writes it; run the script to measure your machine. Compared cases
alternate within one run, and a figure is the median of the ratios of single rounds.
"""


def machine():
    model = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return (f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} cores (virtual, shared), "
            f"kernel {platform.release().split('-')[0]}, {' '.join(platform.libc_ver())}")


def markdown_table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def fill(text):
    """Wraps paragraphs and list items at 100 columns; rows of tables and headings stay as they are."""
    lines = []
    paragraph = []

    def end_paragraph():
        if paragraph:
            lines.extend(textwrap.wrap(" ".join(paragraph), 100, break_long_words=False, break_on_hyphens=False,
                                       subsequent_indent="  " if paragraph[0].startswith("* ") else ""))
            paragraph.clear()

    for line in text.split("\n"):
        if not line or line.startswith(("|", "#")):
            end_paragraph()
            lines.append(line)
            continue
        if line.startswith("* "):
            end_paragraph()
        paragraph.append(line.strip())
    end_paragraph()
    return "\n".join(lines)


LANGUAGES_INTRODUCTION = """# Languages

Recordings of programs in Python, Java, JavaScript, Ruby, PHP, Perl and R, compared with the truth
and with a profiler for each language. Limits are in [design/](design/README.md) 67 to 73 and 81.
All figures are of x86-64; those of aarch64 are in [design/96](design/96-aarch64.md).

## Aims
"""


def replace_section(path, title, body):
    """Replaces the section, or appends it, and updates the table of aims; other sections stay."""
    is_languages = path.name == "LANGUAGES.md"
    text = path.read_text() if path.exists() else LANGUAGES_INTRODUCTION if is_languages else INTRODUCTION
    text = with_aims(_with_section(text, title, body), acceptance if is_languages else aims)
    path.write_text(text.rstrip() + "\n")


def with_aims(text, table_of):
    table = markdown_table(("what", "aim", "now", "section"), table_of.rows(text))
    return _with_section(text, table_of.TITLE, f"Written by `scripts/bench` from the sections below.\n\n{table}")


def _with_section(text, title, body):
    section = f"## {title}\n\n{fill(body.strip())}\n"
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.M | re.S)
    if pattern.search(text):
        return pattern.sub(lambda _: section + "\n", text)
    return text.rstrip() + "\n\n" + section
