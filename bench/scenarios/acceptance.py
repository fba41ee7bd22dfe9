"""The table at the top of docs/LANGUAGES.md: the aims for languages, and the figures of the sections below."""
import re

TITLE = "Aims"
VERSIONS = "Versions"
STRESS = "Stress"
SERVERS = "Servers"


# Measured once, as the decision in the last column says; not repeated by scripts/bench.
BY_HAND = (
    ("handler, 5 and 100 frames of Python, Ruby, PHP", "≤ 2 and 5 µs", "figures in the section",
     "[PERFORMANCE.md](PERFORMANCE.md), Frames of languages"),
    ("handler, Java", "≤ 3 µs", "0.9 µs interpreted, 3.3 to 5.9 µs compiled: missed", "[68](design/68-java-frames.md)"),
    ("handler, JavaScript", "≤ 6 µs", "2.4 to 5.5 µs", "[69](design/69-javascript-frames.md)"),
    ("handler, stack", "≤ 512 bytes", "1,312 bytes, 72 of them for languages (LuaJIT: 1,928, 688): missed", "[68](design/68-java-frames.md)"),
    ("walk of programs without a runtime", "≤ +2 %", "168 ns for 165: +1.8 %", "[68](design/68-java-frames.md)"),
)


def _rows(text, section, first):
    """Cells of the rows of a section that begin with `first`."""
    found = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    lines = re.findall(rf"^\| {re.escape(first)}.*$", found[1], re.M) if found else []
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _numbers(text, language, column):
    cells = (row[column] for row in _rows(text, VERSIONS, f"{language} |"))
    return [float(re.search(r"[\d.]+", cell)[0]) for cell in cells if re.search(r"\d", cell)]


def _worst(text, language, column, choose):
    found = _numbers(text, language, column)
    return f"{choose(found):.2f} % (the worst of {len(found)} versions)" if found else "not measured"


def _judged(text, language, judge):
    """How far swipr and the judge are from the truth."""
    cells = [row[4] for name in ("swipr |", judge) for row in _rows(text, language, name)[:1]]
    return f"{cells[0]} from the truth, {judge} {cells[1]}" if len(cells) == 2 and all(cells) else "not measured"


def _stressed(text, kind):
    """(sum of judged frames, of wrong names) of the programs of a kind, and how each of them ended."""
    found = [cells for cells in _rows(text, STRESS, "") if cells[1] == kind]
    frames, wrong = (sum(int(cells[column].replace(",", "")) for cells in found) for column in (6, 7))
    return frames, wrong, [f"{cells[3]}, {cells[10]}" for cells in found]


def _wrong_names(text, kind):
    frames, wrong, _ = _stressed(text, kind)
    return f"{wrong:,} of {frames:,}" if frames else "not measured"


def _survivors(text):
    ends = _stressed(text, "hostile")[2]
    return "; ".join(f"{ends.count(end)} of {len(ends)}: {end}" for end in sorted(set(ends))) or "not measured"


def _servers(text):
    """Changes of the requests per second of each server, by profiler."""
    cells = [row for row in _rows(text, SERVERS, "") if row[1].endswith(", 100 Hz")]
    profilers = {row[1].removesuffix(", 100 Hz"): [] for row in cells}
    for row in cells:
        profilers[row[1].removesuffix(", 100 Hz")].append(row[4])
    return "; ".join(f"{name} {', '.join(changes)}" for name, changes in profilers.items()) or "not measured"


def rows(text):
    """(what, aim, now, section)."""
    def worst(what, aim, language, column, choose):
        return what, aim, _worst(text, language, column, choose), VERSIONS

    def judged(what, language, judge):
        return what, "within 3 points", _judged(text, language, judge), language

    return [
        worst("Python: stacks with all callers", "≥ 99 %", "Python", 6, min),
        worst("Python: interpreter loops left in stacks", "≤ 0.5 %", "Python", 8, max),
        worst("Python: waits for the GIL recorded as such", "≥ 98 %", "Python", 10, min),
        judged("Python: shares, compared with py-spy", "Python", "py-spy"),
        worst("Java: complete stacks", "≥ 95 %", "Java", 4, min),
        worst("Java: stacks with all callers", "≥ 95 %", "Java", 6, min),
        judged("Java: shares, compared with async-profiler", "Java", "async-profiler"),
        worst("JavaScript: names that equal those of --perf-basic-prof", "≥ 97 %", "JavaScript", 10, min),
        worst("JavaScript: stacks with all callers", "", "JavaScript", 6, min),
        judged("JavaScript: shares, compared with --cpu-prof", "JavaScript", "V8's profiler"),
        judged("Ruby: shares, compared with rbspy", "Ruby", "rbspy"),
        worst("Ruby: stacks with all callers", "", "Ruby", 6, min),
        *(worst(f"{language}: stacks with all callers", "", language, 6, min) for language in ("PHP", "Perl", "R", "Lua", "LuaJIT")),
        *(worst(f"{language}: names lost", "≤ 0.5 %", language, 7, max)
          for language in ("Python", "Java", "JavaScript", "Ruby", "PHP", "Perl", "R", "Lua", "LuaJIT")),
        ("wrong names, ordinary programs", "0 of 100,000 in each language", _wrong_names(text, "ordinary"), STRESS),
        ("wrong names, hostile programs", "≤ 1 of 10,000", _wrong_names(text, "hostile"), STRESS),
        ("hostile programs at 1 kHz", "10 minutes each", _survivors(text), STRESS),
        ("servers' requests per second at 100 Hz, with each profiler", "≥ -1 %, swipr the least", _servers(text), SERVERS),
        *BY_HAND,
    ]
