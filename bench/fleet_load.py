#!/usr/bin/env python3
"""Pushes of many hosts against the limit of one tenant of Pyroscope; prints the table of docs/FLEET.md, "Many hosts".

usage: bench/fleet_load.py [HOSTS] [SECONDS]      (default: 400 120; needs build/release)
`swipr agent` records 20 programs. Each host then pushes their profiles once per slice, as the agent does: within half
a slice after its end, which is aligned to the clock, and again after 1, 2, 4 … 60 s, or when the store said so, if it
is busy.
The stand-in of the tests refuses with status 429 what is above the limit. HOSTS stand for 10,000: limit and burst are
as many times smaller. With much fewer hosts a single profile would be larger than the burst.
"""
import base64
import gzip
import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
sys.path.insert(0, str(ROOT / "tests"))
from support.stores import engines  # noqa: E402

FLEET = 10_000
LIMIT, BURST = 4 << 20, 2 << 20  # bytes per second, bytes: defaults of Pyroscope
PROGRAMS = 20
PROGRAM = """
import time
def work():
    return sum(number * number for number in range(20000))
while True:
    work()
    time.sleep(0.1)
"""


def record(folder, *options):
    """The requests of one slice of a host: (path, headers, body)."""
    (folder / "sockets").mkdir(mode=0o700, exist_ok=True)
    (folder / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "SWIPR_SOCKET_DIR": f"{folder}/sockets", "XDG_CACHE_HOME": f"{folder}/cache"}
    preloaded = {**environment, "LD_PRELOAD": f"{BUILD}/preload/libswipr_preload.so"}
    programs = [subprocess.Popen([sys.executable, folder / "program.py"],
                                 env={**preloaded, "SWIPR_SERVICE_NAME": f"service-{number}"}) for number in range(PROGRAMS)]
    spool = folder / f"spool{''.join(options)}"
    try:
        time.sleep(2)
        subprocess.run([BUILD / "cli/swipr", "agent", "--socket-dir", folder / "sockets", "--slices", "2", "--spool", spool,
                        "--push", "pyroscope+http://127.0.0.1:1", *options], env=environment, check=True, capture_output=True)
    finally:
        for program in programs:
            program.kill()
            program.wait()
    begins = {path: path.name.split("-")[0] for path in spool.rglob("*-*") if path.is_file()}
    requests = []
    for path, begin in begins.items():
        if begin == max(begins.values()):  # the first slice is shorter
            line, body = path.read_bytes().split(b"\n", 1)
            head = json.loads(line)
            requests.append((head["path"], dict(head["headers"]), body))
    return requests


def profile_bytes(body):
    """As the limit counts: without compression."""
    return sum(len(gzip.decompress(base64.b64decode(sample["rawProfile"])))
               for series in json.loads(body)["series"] for sample in series["samples"])


class Host(threading.Thread):
    def __init__(self, address, requests, slice_s, end):
        super().__init__(daemon=True)
        self.address, self.requests, self.slice_s, self.end = address, requests, slice_s, end
        self.stored = self.asked_again = self.made = 0
        self.waiting = []
        self.connection = http.client.HTTPConnection(address, timeout=30)

    def run(self):
        now = time.time()
        due = now - now % self.slice_s + self.slice_s
        repetition, pause_until = 0, 0
        while time.time() < self.end:
            if time.time() >= due:
                if not self.waiting:
                    pause_until = time.time() + random.uniform(0, self.slice_s / 2)
                self.waiting += self.requests
                self.made += len(self.requests)
                due += self.slice_s
            if not self.waiting or time.time() < pause_until:
                time.sleep(0.05)
                continue
            status, retry_after = self.post(self.waiting[0])
            if status == 200:
                self.waiting.pop(0)
                self.stored, repetition = self.stored + 1, 0
                continue
            self.asked_again += 1
            wanted = float(retry_after) if retry_after else min(60, 2 ** min(repetition, 6)) * random.uniform(0.8, 1.2)
            repetition, pause_until = repetition + 1, time.time() + min(60, max(0.1, wanted))

    def post(self, request):
        path, headers, body = request
        try:
            self.connection.request("POST", path, body, headers)
            answer = self.connection.getresponse()
            answer.read()
            return answer.status, answer.headers.get("Retry-After")
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return 0, None


def play(hosts, seconds, requests, slice_s, bytes_per_s):
    store = engines.Engines()
    try:
        store.limit(bytes_per_s=bytes_per_s * hosts // FLEET, burst=BURST * bytes_per_s // LIMIT * hosts // FLEET)
        now = time.time()
        end = now - now % slice_s + slice_s + seconds
        fleet = [Host(store.address, requests, slice_s, end) for _ in range(hosts)]
        for host in fleet:
            host.start()
        for host in fleet:
            host.join()
        made, stored = sum(host.made for host in fleet), sum(host.stored for host in fleet)
        return made, stored, sum(host.asked_again for host in fleet)
    finally:
        store.close()


def main(hosts=400, seconds=120):
    print("| hosts' settings, tenant's limit | a profile | wanted | stored at once or later | asked again |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="swipr-bench-") as name:
        folder = pathlib.Path(name)
        for slice_s, options, limit in ((15, (), LIMIT), (15, (), 64 << 20), (60, (), 16 << 20), (60, ("--service-name", "shop"), LIMIT)):
            requests = record(folder, "--slice", f"{slice_s}s", *options)
            size = sum(profile_bytes(body) for *_, body in requests) / len(requests)
            made, stored, again = play(hosts, max(seconds, 2 * slice_s), requests, slice_s, limit)
            wanted = size * len(requests) * FLEET / slice_s / 2**20
            print(f"| slices of {slice_s} s{', ' if options else ''}{' '.join(options)}; {limit >> 20} MiB/s | {size / 1024:.1f} KiB | "
                  f"{wanted:.1f} MiB/s, {len(requests) * FLEET:,} series per type | {100 * stored / made:.0f} % | {again:,} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
