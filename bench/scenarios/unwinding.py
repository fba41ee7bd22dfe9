"""The walk compared with libunwind's, the handler, and the build of a table."""
import json
import subprocess

from scenarios.guest import BUILD, run

COLUMNS = ("what", "aim", "here")
LIBRARIES = ("libc", "libcrypto", "libLLVM")
PARTS = ("libc", "libcrypto")


def measure(program, *options):
    """The medians by name, of five alternating runs."""
    output = run(BUILD / "bench" / program, "--benchmark_format=json", "--benchmark_repetitions=5",
                 "--benchmark_report_aggregates_only=true", *options, stdout=subprocess.PIPE).stdout
    return {row["run_name"]: row for row in json.loads(output)["benchmarks"] if row["aggregate_name"] == "median"}


def table():
    """Rows (what, aim, here)."""
    found = measure("unwind_bench", "--benchmark_enable_random_interleaving=true")
    handler = next(iter(measure("handler_bench").values()))
    time = {name.split("/iterations")[0]: row["real_time"] for name, row in found.items()}
    cold = next(row for name, row in found.items() if name.startswith("walk/cold"))
    walk, step, backtrace = (time[name] for name in
                             ("walk/page_probe_reader", "libunwind/unw_step", "libunwind/unw_backtrace"))
    frames = int(found["walk/page_probe_reader"]["frames"])
    rows = [(f"walk of {frames} frames, warm", "≤ 400 ns", f"{walk:.0f} ns, {walk / frames:.1f} ns per frame"),
            ("… where the stack reaches into one page more", "", f"{time['walk/page_probe_reader/one_page_more']:.0f} ns"),
            ("… without the cache of rules", "", f"{time['walk/page_probe_reader/no_rule_cache']:.0f} ns"),
            ("libunwind's `unw_step`", "≥ 25 times swipr's", f"{step:.0f} ns, {step / walk:.0f} times"),
            ("libunwind's `unw_backtrace`", "≥ swipr's", f"{backtrace:.0f} ns, {backtrace / walk:.2f} times"),
            ("walk, cold", "≤ 10 µs", f"{cold['p50_ns'] / 1000:.1f} µs"),
            ("handler, entry to return, median", "≤ 1.5 µs", f"{handler['p50_ns'] / 1000:.2f} µs"),
            ("handler, 99th percentile", "≤ 8 µs", f"{handler['p99_ns'] / 1000:.2f} µs")]
    for name in LIBRARIES:
        row = found[f"build/{name}"]
        if "per_MB" in row:
            rows.append((f"table of {name}, {row['eh_frame_MB']:.2f} MB of `.eh_frame`", "≤ 3.2 ms per MB",
                         f"{row['real_time']:.2f} ms, {1000 * row['per_MB']:.1f} ms per MB"))
            floor = found[f"build_floor/{name}"]
            rows.append(("… its section copied and as many rows written, nothing else", "",
                         f"{floor['real_time']:.2f} ms, {1000 * floor['per_MB']:.1f} ms per MB"))
    for name in PARTS:
        row = found[f"build_part_of/{name}"]
        rows.append((f"table of 64 KiB of {name}'s code, {row['functions']:.0f} functions", "", f"{row['real_time']:.0f} µs"))
    return rows
