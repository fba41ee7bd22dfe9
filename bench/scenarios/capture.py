"""Cost of recording for a busy thread, compared with an empty signal handler and other profilers.

All slices of a round run in one process, one after the other; a loss is the median over the rounds
of the ratio to the slices of nothing before and behind the round, which takes out most of a drift.
"""
import shutil
import statistics
import subprocess
import time

from scenarios.bootstrap import bounds
from scenarios.guest import Guest

COLUMNS = ("scenario", "empty handler", "swipr", "beyond it", "aim", "swipr, wall", "ticks",
           "… of the empty handler", "with a stack", "agent CPU", "bytes/sample", "EINTR", "switches of blocked threads")
# Each: name, aim, blocked threads, wakes per second, rate, options of the guest, of the recording.
BUSY = (
    ("1 busy thread, 100 Hz", "", 0, 0, 100, {}, ()),
    ("1 busy thread, 1 kHz", "≤ 0.3 % beyond", 0, 0, 1000, {}, ()),
    ("1 busy thread, 10 kHz", "≤ 2.5 % beyond", 0, 0, 10000, {}, ("--max-overhead", "50%")),
)
CROWDS = (
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
    """The work, and the share of the signals that were sent in time, in per cent."""
    guest.command(f"signal {hertz}")
    work, _ = measured(guest, lambda: time.sleep(seconds))
    _, sent, missed = guest.command("signal 0")
    return work, 100 * int(sent) / max(int(sent) + int(missed), 1)


def nothing(guest, seconds):
    return measured(guest, lambda: time.sleep(seconds))[0]


def recorded(guest, hertz, seconds, options):
    """The work during a recording that has already begun, and the totals of the recording."""
    with guest.recording(hertz, *options) as totals:
        work = nothing(guest, seconds)
    return work, totals


def losses(rounds, work_index=0):
    """Loss in rounds (slice without, measured slice, slice without), in per cent."""
    return [100 - 200 * work[work_index] / (before[work_index] + behind[work_index]) for before, work, behind in rounds]


def loss(rounds, work_index=0):
    return statistics.median(losses(rounds, work_index))


def beyond(rounds, floor):
    """Median loss beyond that of the floor's rounds, with its 95 % interval."""
    differences = [found - expected for found, expected in zip(losses(rounds), losses(floor))]
    low, high = bounds(differences)
    return f"{statistics.median(differences):+.2f} % ({low:+.2f} to {high:+.2f})"


def row(name, aim, blocked, wakes, hertz, guest_options, record_options, rounds, seconds):
    guest = Guest(blocked, wakes, **guest_options)
    guest.record(hertz, seconds, *record_options)  # warm-up: tables built, memory touched
    before = guest.mark()
    rests, empty, swipr, in_time, totals = [nothing(guest, seconds)], [], [], [], []
    for _ in range(rounds):
        work, share = with_signals(guest, hertz, seconds)
        empty.append(work)
        in_time.append(share)
        work, told = recorded(guest, hertz, seconds, record_options)
        swipr.append(work)
        totals.append(told)
        rests.append(nothing(guest, seconds))
    after = guest.mark()
    guest.end()

    def total(key):
        return sum(entry.get(key, 0) for entry in totals)

    floor, found = (list(zip(rests, works, rests[1:])) for works in (empty, swipr))
    ticks = 100 * total("ticks") / max(total("ticks") + total("ticks_missed"), 1)
    stretched = 100 * total("ticks_stretched") / max(total("ticks"), 1)
    return (name, f"{loss(floor):.2f} %", f"{loss(found):.2f} %", beyond(found, floor), aim,
            f"{loss(found, 1):.2f} %",
            f"{ticks:.1f} %" + (f", {stretched:.0f} % stretched" if stretched else ""),
            f"{statistics.mean(in_time):.1f} %",
            f"{100 * (1 - total('stacks_missing') / max(total('samples'), 1)):.2f} %",
            f"{100 * total('agent_cpu_ns') / total('duration_ns'):.1f} %",
            f"{total('bytes') / max(total('samples'), 1):.1f}",
            str(after[3] - before[3]), str(after[4] - before[4]))


def table(scenarios, rounds, seconds):
    return [row(*scenario, rounds, seconds) for scenario in scenarios]


def perf_slice(guest, hertz, seconds):
    """perf on the same process with the software clock; None if it is not permitted."""
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
    """gperftools' profiler in the same process; None if it is not installed."""
    if guest.command(f"gperftools {hertz} {guest.folder.name}/cpu.prof") != ["ok"]:
        return None
    work, _ = measured(guest, lambda: time.sleep(seconds))
    guest.command("gperftools 0 -")
    return work


def peers(rounds, seconds, hertz=1000):
    """Rows (name, loss of the busy thread) at one rate, all in turn in one process."""
    # gperftools reads its rate when the library is loaded.
    guest = Guest(environment={"CPUPROFILE_FREQUENCY": str(hertz)})
    guest.record(hertz, seconds)
    slices = {"empty handler": lambda: with_signals(guest, hertz, seconds)[0],
              "swipr": lambda: measured(guest, lambda: guest.record(hertz, seconds))[0],
              "perf record -g (frame pointers, cpu-clock)": lambda: perf_slice(guest, hertz, seconds),
              "gperftools": lambda: gperftools_slice(guest, hertz, seconds)}
    found = {name: [] for name in slices}
    rest = nothing(guest, seconds)
    for number in range(rounds):
        # Every other round in reverse order, and a slice without a profiler after each.
        for name in list(slices)[::-1 if number % 2 else 1]:
            work = slices[name]()
            before, rest = rest, nothing(guest, seconds)
            if work is not None:
                found[name].append((before, work, rest))
    guest.end()
    return [(name, f"{loss(rounds):.2f} %" if rounds else "not available here") for name, rounds in found.items()]
