"""Latency of a request-response server as its clients see it, with and without a recording."""
import contextlib
import statistics
import time

from scenarios.bootstrap import bounds
from scenarios.guest import BUILD, Program

REQUESTS_PER_SECOND = 2000
QUANTILES = ("p50", "p99", "p99.9")


def ask(client, seconds):
    """The quantiles of the next seconds, in nanoseconds."""
    client.command("from here")
    time.sleep(seconds)
    return [int(word) for word in client.command("to here")[1:]]


# The order of the two slices alternates from pair to pair, so that drift affects both kinds equally. Every
# second pair begins as the previous one ended, without a recording: these two successive slices show the
# variation of the machine itself and take no additional time.
ORDERS = (("recorded", "plain"), ("plain", "recorded"))


def table(pairs, seconds, hertz=100):
    """Rows (quantile, without, with, median ratio, its upper bound, median ratio of two slices without, its upper bound)."""
    server = Program(BUILD / "bench/bench_latency_server")
    client = Program(BUILD / "bench/bench_latency_client", server.ready[1], REQUESTS_PER_SECOND, preload=False)
    found = []
    for index in range(pairs):
        slices = {}
        for kind in ORDERS[index % len(ORDERS)]:
            with server.recording(hertz) if kind == "recorded" else contextlib.nullcontext():
                slices[kind] = ask(client, seconds)
        found.append(slices)
    client.end()
    server.end()
    neighbours = [(first["plain"], second["plain"]) for first, second in zip(found[::2], found[1::2])]
    rows = []
    for at, name in enumerate(QUANTILES):
        def microseconds(kind):
            return f"{statistics.median(slices[kind][at] for slices in found) / 1000:.0f} µs"

        row = [name, microseconds("plain"), microseconds("recorded")]
        for ratios in ([slices["recorded"][at] / slices["plain"][at] for slices in found],
                       [second[at] / first[at] for first, second in neighbours]):
            row += [f"{statistics.median(ratios):.3f}", f"{bounds(ratios)[1]:.3f}"]
        rows.append(row)
    return rows
