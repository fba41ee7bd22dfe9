"""What recording costs a busy thread, beside what an empty signal handler and others cost it.

All slices of a round run in one process, one after the other; a loss is the median over the rounds
of the ratio within a round.
"""
import shutil
import statistics
import subprocess
import time

from scenarios.guest import Guest

COLUMNS = ("scenario", "empty handler", "swipr", "beyond it", "aim", "swipr, wall", "ticks", "with a stack",
           "agent CPU", "bytes/sample", "EINTR", "switches of blocked threads")
SCENARIOS = (  # name, aim, blocked threads, wakes per second, rate, options of the guest, of the recording
    ("1 busy thread, 100 Hz", "", 0, 0, 100, {}, ()),
    ("1 busy thread, 1 kHz", "≤ 0.3 % beyond", 0, 0, 1000, {}, ()),
    ("1 busy thread, 10 kHz", "≤ 2.5 % beyond", 0, 0, 10000, {}, ("--max-overhead", "50%")),
    ("1,000 blocked + 1 busy, 100 Hz", "≤ 3 %", 1000, 0, 100, {}, ()),
    ("the same, --max-overhead 10%", "≤ 3 %", 1000, 0, 100, {}, ("--max-overhead", "10%")),
    ("the same, frame pointers", "≤ 3 %", 1000, 0, 100, {"frame_pointers": True}, ()),
    ("10,000 blocked + 1 busy, 10 Hz", "≤ 5 %", 10000, 0, 10, {}, ()),
    ("2,000 waking 10 ×/s + 1 busy, 100 Hz", "≤ 5 %", 2000, 10, 100, {}, ()),
)


def work_between(before, after):
    """Work per CPU second of the busy thread, and per second of wall time."""
    units = after[0] - before[0]
    return units / (after[1] - before[1]), units / (after[2] - before[2])


def measured(guest, action):
    before = guest.mark()
    result = action()
    return work_between(before, guest.mark()), result


def with_signals(guest, hertz, seconds):
    guest.command(f"signal {hertz}")
    work, _ = measured(guest, lambda: time.sleep(seconds))
    guest.command("signal 0")
    return work


def loss(rows, slice_index, work_index=0):
    return 100 * statistics.median(
        1 - row[slice_index][work_index] / row[0][work_index] for row in rows)


def row(name, aim, blocked, wakes, hertz, guest_options, record_options, rounds, seconds):
    guest = Guest(blocked, wakes, **guest_options)
    guest.record(hertz, seconds, *record_options)  # warm-up: tables built, memory touched
    before = guest.mark()
    rows = []
    for _ in range(rounds):
        nothing, _ = measured(guest, lambda: time.sleep(seconds))
        empty = with_signals(guest, hertz, seconds)
        swipr, totals = measured(guest, lambda: guest.record(hertz, seconds, *record_options))
        rows.append((nothing, empty, swipr, totals))
    after = guest.mark()
    guest.end()

    def total(key):
        return sum(entry[3].get(key, 0) for entry in rows)

    ticks = 100 * total("ticks") / max(total("ticks") + total("ticks_missed"), 1)
    stretched = 100 * total("ticks_stretched") / max(total("ticks"), 1)
    return (name, f"{loss(rows, 1):.2f} %", f"{loss(rows, 2):.2f} %",
            f"{loss(rows, 2) - loss(rows, 1):+.2f} %", aim, f"{loss(rows, 2, 1):.2f} %",
            f"{ticks:.1f} %" + (f", {stretched:.0f} % stretched" if stretched else ""),
            f"{100 * (1 - total('stacks_missing') / max(total('samples'), 1)):.2f} %",
            f"{100 * total('agent_cpu_ns') / (rounds * seconds * 1e9):.1f} %",
            f"{total('bytes') / max(total('samples'), 1):.1f}",
            str(after[3] - before[3]), str(after[4] - before[4]))


def table(rounds, seconds):
    return [row(*scenario, rounds, seconds) for scenario in SCENARIOS]


def perf_slice(guest, hertz, seconds):
    """perf on the same process with the software clock; None where it is not allowed."""
    if shutil.which("perf") is None:
        return None
    output = guest.folder.name + "/perf.data"

    def action():
        return subprocess.run(
            ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(hertz), "-g", "-p", str(guest.process.pid),
             "-o", output, "--", "sleep", str(seconds)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode
    work, code = measured(guest, action)
    return work if code == 0 else None


def gperftools_slice(guest, hertz, seconds):
    """gperftools' profiler in the same process; None where it is not installed."""
    if guest.command(f"gperftools {hertz} {guest.folder.name}/cpu.prof") != ["ok"]:
        return None
    work, _ = measured(guest, lambda: time.sleep(seconds))
    guest.command("gperftools 0 -")
    return work


def peers(rounds, seconds, hertz=1000):
    """Rows (name, loss of the busy thread) at one rate, all in one process and in turns."""
    # gperftools reads its rate when the library is loaded.
    guest = Guest(environment={"CPUPROFILE_FREQUENCY": str(hertz)})
    guest.record(hertz, seconds)
    slices = {"empty handler": lambda: with_signals(guest, hertz, seconds),
              "swipr": lambda: measured(guest, lambda: guest.record(hertz, seconds))[0],
              "perf record -g (frame pointers, cpu-clock)": lambda: perf_slice(guest, hertz, seconds),
              "gperftools": lambda: gperftools_slice(guest, hertz, seconds)}
    ratios = {name: [] for name in slices}
    for _ in range(rounds):
        nothing, _ = measured(guest, lambda: time.sleep(seconds))
        for name, take in slices.items():
            work = take()
            if work is not None:
                ratios[name].append(1 - work[0] / nothing[0])
    guest.end()
    return [(name, f"{100 * statistics.median(found):.2f} %" if found else "not available here")
            for name, found in ratios.items()]
