"""What frames of a language cost in the signal handler."""
from scenarios.unwinding import measure

COLUMNS = ("what", "aim", "here")
AIMS = {5: "≤ 2 µs", 100: "≤ 5 µs"}
PROGRAMS = {"Python": "python_bench", "Ruby": "ruby_bench", "PHP": "php_bench"}


def table():
    """Rows (what, aim, here)."""
    rows = []
    for language, program in PROGRAMS.items():
        for name, row in measure(program).items():
            depth = int(name.split("/")[1])
            what = "methods" if name.startswith("methods") else "frames"
            rows.append((f"{depth} {what} of {language}", AIMS.get(depth, ""),
                         f"{row['cpu_time'] / 1000:.2f} µs, {row['questions']:.0f} pages probed"))
    return rows
