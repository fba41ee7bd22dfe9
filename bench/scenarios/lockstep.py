"""Accuracy of the profile of a periodic program: 70, 20 and 10 per cent, by construction."""
import collections
import subprocess

from scenarios.guest import BUILD, SWIPR, Program, run

FUNCTIONS = ("seventy", "twenty", "ten")
PERIODS_US = (1000, 2000, 4000, 5000, 10_000, 16_667, 20_000, 50_000, 100_000)
INTERVALS = ("1ms", "5ms", "10ms", "20ms", "100ms")
BURSTS_US = ((1000, 100), (1000, 500), (10_000, 2000), (4000, 1000))
COLUMNS = ("period", "clock", *(f"interval {interval}" for interval in INTERVALS))
BURST_COLUMNS = ("burst", "mode", "truth", "interval 1ms", "interval 10ms")
MANY_SAMPLES = 1500


def milliseconds(microseconds):
    return f"{microseconds / 1000:g} ms"


def shares_of(path, weight):
    """Weight of each function."""
    text = run(SWIPR, "convert", path, "--format", "collapsed", "--weight", weight, "--no-inlines", "--thread", "worker",
               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    sums = collections.Counter()
    for line in text.splitlines():
        stack, _, value = line.rpartition(" ")
        for name in set(FUNCTIONS) & set(stack.split(";")):
            sums[name] += int(value)
    return sums


def cell(path, truth):
    """Shares of CPU time and the number of samples; marked if they are wrong."""
    times, counts = shares_of(path, "cpu"), shares_of(path, "samples")
    samples = sum(counts.values())
    if samples == 0 or sum(times.values()) == 0:
        return "no samples **!**"
    seen = {name: 100 * times[name] / sum(times.values()) for name in FUNCTIONS}

    def allowed(name):
        errors = 400 * (truth[name] * (1 - truth[name]) / samples) ** 0.5
        return min(errors, 5) if samples >= MANY_SAMPLES else errors

    wrong = any(abs(seen[name] - 100 * truth[name]) > allowed(name) for name in FUNCTIONS)
    return "/".join(f"{seen[name]:.1f}" for name in FUNCTIONS) + f" ({samples:,})" + (" **!**" if wrong else "")


def measure(arguments, intervals, seconds, mode):
    """The cells of recordings at these intervals, all at once, and the truth by the thread's own CPU clock."""
    target = Program(BUILD / "tests/targets/lockstep_nofp", *arguments)
    paths = {interval: f"{target.folder.name}/{interval}.swipr" for interval in intervals}
    recordings = [subprocess.Popen([str(SWIPR), "record", "--pid", str(target.process.pid), "--interval", interval, "--mode",
                                    mode, "--max-overhead", "100%", "--duration", f"{seconds:g}s", "-o", path],
                                   env=target.environment, stderr=subprocess.DEVNULL)
                  for interval, path in paths.items()]
    for recording in recordings:
        recording.wait()
    words = target.process.communicate()[0].split()
    times = dict(zip(words[0::2], map(int, words[1::2])))
    truth = {name: times[name] / sum(times.values()) for name in FUNCTIONS}
    return [cell(path, truth) for path in paths.values()], truth


def table(seconds):
    return [(milliseconds(period), clock, *measure((clock, period), INTERVALS, seconds, "wall")[0])
            for clock in ("wall", "cpu") for period in PERIODS_US]


def burst_table(seconds):
    rows = []
    for mode in ("wall", "cpu"):
        for period, burst in BURSTS_US:
            cells, truth = measure(("burst", period, burst), ("1ms", "10ms"), seconds, mode)
            rows.append((f"{milliseconds(burst)} in {milliseconds(period)}", mode,
                         "/".join(f"{100 * truth[name]:.1f}" for name in FUNCTIONS), *cells))
    return rows
