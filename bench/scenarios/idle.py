"""Cost of the preload without a recording."""
import os
import statistics
import subprocess
import tempfile
import time

from scenarios.guest import BUILD, PRELOAD, Guest, run


def environments():
    plain = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    return plain, dict(plain, LD_PRELOAD=str(PRELOAD))


def paired(rounds, once):
    """Median of the differences of once(with the preload) - once(without), and of the latter."""
    plain, loaded = environments()
    pairs = [(once(plain), once(loaded)) for _ in range(rounds)]
    return (statistics.median(b - a for a, b in pairs), statistics.median(a for a, _ in pairs))


def start_milliseconds(environment):
    begin = time.perf_counter()
    subprocess.run(["/bin/true"], env=environment, check=True)
    return 1000 * (time.perf_counter() - begin)


def nanoseconds_of(subject):
    def once(environment):
        output = subprocess.run([str(BUILD / "bench/bench_single_thread"), subject], env=environment, check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        return float(output)
    return once


def resident_kib():
    difference = []
    for _ in range(5):
        with_preload, without = Guest(), Guest(preload=False)
        difference.append(with_preload.resident_kib() - without.resident_kib())
        with_preload.end()
        without.end()
    return statistics.median(difference)


def wake_ups(seconds=5):
    guest = Guest(blocked=4)
    thread = guest.control_thread()

    def switches():
        return sum(guest.status(name, thread) for name in
                   ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"))
    before = switches()
    time.sleep(seconds)
    count = switches() - before
    guest.end()
    return count


def stripped_kib():
    with tempfile.NamedTemporaryFile() as stripped:
        run("strip", "-o", stripped.name, PRELOAD)
        return os.path.getsize(stripped.name) // 1024


def table(rounds):
    """Rows (what, figure)."""
    added_ms, plain_ms = paired(20 * rounds, start_milliseconds)
    rows = [("start and end of `true`", f"+{added_ms:.2f} ms (without: {plain_ms:.2f} ms)"),
            ("resident memory of a waiting program", f"+{resident_kib():.0f} KiB"),
            ("wake-ups of the control thread in 5 s", str(wake_ups())),
            ("library, stripped", f"{stripped_kib()} KiB")]
    for subject, text in (("putc", "`putc` to /dev/null, single-threaded program"),
                          ("shared_ptr", "copy of a `shared_ptr`, single-threaded program"),
                          ("fork", "`fork`, `_exit` of the child, `waitpid`"),
                          ("spawn", "`posix_spawn` of `true` without the preload, `waitpid`")):
        added, plain = paired(rounds, nanoseconds_of(subject))
        rows.append((text, f"{(plain + added) / plain:.2f} × ({plain:.1f} to {plain + added:.1f} ns)"))
    return rows
