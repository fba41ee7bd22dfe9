"""Latency of a request-response server as its clients see it, with and without a recording."""
import random
import statistics
import subprocess
import threading

from scenarios.guest import BUILD, Program, run

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


def table(pairs, seconds, hertz=100):
    """Rows (quantile, without, with, median ratio, upper bound of the ratio)."""
    server = Program(BUILD / "bench/bench_latency_server")
    port = server.ready[1]
    server.record(hertz, 1)  # warm-up
    found = []
    for index in range(pairs):
        def recorded():
            recorder = threading.Thread(target=server.record, args=(hertz, seconds + 1))
            recorder.start()
            result = ask(port, seconds)
            recorder.join()
            return result
        # Every other pair the other way round, against drift.
        if index % 2 == 0:
            plain, with_swipr = ask(port, seconds), recorded()
        else:
            with_swipr, plain = recorded(), ask(port, seconds)
        found.append((plain, with_swipr))
    server.end()
    rows = []
    for at, name in enumerate(QUANTILES):
        ratios = [with_swipr[at] / plain[at] for plain, with_swipr in found]
        rows.append((name, f"{statistics.median(plain[at] for plain, _ in found) / 1000:.0f} µs",
                     f"{statistics.median(other[at] for _, other in found) / 1000:.0f} µs",
                     f"{statistics.median(ratios):.3f}", f"{upper_bound(ratios):.3f}"))
    return rows
