"""Latency of a request-response server as its clients see it, with and without a recording."""
import contextlib
import pathlib
import random
import signal
import statistics
import subprocess
import time

from scenarios.guest import BUILD, SWIPR, Program, run

REQUESTS_PER_SECOND = 2000
QUANTILES = ("p50", "p99", "p99.9")


def ask(port, seconds):
    output = run(BUILD / "bench/bench_latency_client", port, seconds, REQUESTS_PER_SECOND,
                 stdout=subprocess.PIPE).stdout
    return [int(word) for word in output.split()[1:]]


def upper_bound(ratios, draws=10_000):
    """The upper end of the 95 % interval of the median, by bootstrap with a fixed seed."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(ratios, k=len(ratios))) for _ in range(draws))
    return medians[int(0.975 * draws)]


# The two slices of a pair change places from pair to pair: drift hits both kinds alike, and every second
# pair begins as the one before it has ended, without a recording: two slices that tell what the machine
# moves by itself, at no cost in time.
ORDERS = (("recorded", "plain"), ("plain", "recorded"))


@contextlib.contextmanager
def recording(server, hertz):
    """A recording that has begun: its first second is not what programs live with."""
    output = pathlib.Path(server.folder.name) / "latency.swipr"
    output.unlink(missing_ok=True)
    recorder = subprocess.Popen([SWIPR, "record", "--pid", str(server.process.pid), "--rate", str(hertz), "-o", output],
                                env=server.environment, stderr=subprocess.DEVNULL)
    while not output.exists() or output.stat().st_size == 0:
        time.sleep(0.01)
    time.sleep(0.3)
    yield
    recorder.send_signal(signal.SIGINT)
    if recorder.wait() != 0:
        raise RuntimeError("the recording failed")


def table(pairs, seconds, hertz=100):
    """Rows (quantile, without, with, median ratio, its upper bound, median ratio of two slices without, its upper bound)."""
    server = Program(BUILD / "bench/bench_latency_server")
    port = server.ready[1]
    found = []
    for index in range(pairs):
        slices = {}
        for kind in ORDERS[index % len(ORDERS)]:
            with recording(server, hertz) if kind == "recorded" else contextlib.nullcontext():
                slices[kind] = ask(port, seconds)
        found.append(slices)
    server.end()
    neighbours = [(first["plain"], second["plain"]) for first, second in zip(found[::2], found[1::2])]
    rows = []
    for at, name in enumerate(QUANTILES):
        def microseconds(kind):
            return f"{statistics.median(slices[kind][at] for slices in found) / 1000:.0f} µs"

        row = [name, microseconds("plain"), microseconds("recorded")]
        for ratios in ([slices["recorded"][at] / slices["plain"][at] for slices in found],
                       [second[at] / first[at] for first, second in neighbours]):
            row += [f"{statistics.median(ratios):.3f}", f"{upper_bound(ratios):.3f}"]
        rows.append(row)
    return rows
