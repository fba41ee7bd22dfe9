"""An agent with files, a spool and stores of its own, and programs that it records."""

import contextlib
import json
import os
import re
import sys
import threading

from support import deadline
from support.case import SwiprCase
from support.stores import engines

WORKER = """
import os, sys, threading
def end_with_input():
    sys.stdin.read()
    os._exit(0)
threading.Thread(target=end_with_input, daemon=True).start()
def shop_work():
    s = 0
    for i in range(20000):
        s += i
    return s
print("ready", flush=True)
while True:
    shop_work()
"""


class AgentCase(SwiprCase):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.script = self.folder / "shop.py"
        self.script.write_text(WORKER)

    def start(self, *command, **options):
        """Dies with the test, even if that is killed: neither workers nor the agent may go on alone."""
        return super().start("setpriv", "--pdeathsig", "KILL", *command, **options)

    def start_worker(self, *arguments, **options):
        running = self.start(sys.executable, "-u", *(arguments or (self.script,)), preloaded=True, **options)
        running.wait_ready()
        self.wait_for_socket(running.pid)
        return running

    def agent_arguments(self, *arguments):
        return ("agent", "--socket-dir", self.sockets, "--output-dir", self.out, "--spool", self.folder / "spool",
                *arguments)

    def run_agent(self, *arguments, **options):
        return self.swipr(*self.agent_arguments(*arguments), **options)

    def start_agent(self, *arguments, **options):
        return self.start_swipr(*self.agent_arguments(*arguments), **options)

    def accounts(self):
        """Of all slices, in order."""
        return sorted((json.loads(path.read_text()) for path in self.out.glob("profile_*.json")),
                      key=lambda slice_: slice_["begin_ns"])

    def wait_for_slices(self, count):
        deadline.wait_until(lambda: len(list(self.out.glob("profile_*.json"))) >= count, f"{count} slices")

    def entries_of(self, pid):
        return [one for slice_ in self.accounts() for one in slice_["processes"] if one["pid"] == pid]

    def stored_cpu(self, store):
        return sum(one["types"]["cpu/nanoseconds"]["total"] for one in store.received() if one["api"] != "studio")

    def known_cpu(self):
        return sum(slice_["recorded_ns"] + slice_["unrecorded_ns"] for slice_ in self.accounts())

    def own_cpu(self):
        """Of that, what swipr's threads used in the processes."""
        return sum(one["unrecorded_ns"].get("swipr", 0) for slice_ in self.accounts() for one in slice_["processes"])

    def known_by_slice(self):
        """{(begin, service): CPU time} of all slices: of each a profile is made. Where none was used, there is none."""
        known = {}
        for slice_ in self.accounts():
            for one in slice_["processes"]:
                key = (slice_["begin_ns"], one["service"])
                known[key] = known.get(key, 0) + one["recorded_ns"] + sum(one["unrecorded_ns"].values())
        return {key: time for key, time in known.items() if time}

    def stored_by_slice(self, store):
        """{(begin, service): CPU time}; a profile that is there twice is an error."""
        stored = {}
        for one in store.received():
            key = (one["time_nanos"], one["labels"]["service_name"])
            self.assertNotIn(key, stored, "stored twice")
            stored[key] = one["types"]["cpu/nanoseconds"]["total"]
        return stored

    def metrics(self):
        """{name: value} of the agent that writes, or has written, the file "metrics"."""
        file = self.folder / "metrics"
        lines = file.read_text().splitlines() if file.exists() else []
        return {name.removeprefix("swipr_agent_"): float(value) for name, _, value in
                (line.rpartition(" ") for line in lines if not line.startswith("#"))}

    def outcomes(self):
        """{outcome: number of requests} to all stores."""
        sums = {}
        for name, value in self.metrics().items():
            if name.startswith("push_total"):
                outcome = re.search('outcome="(.*)"', name)[1]
                sums[outcome] = sums.get(outcome, 0) + int(value)
        return sums

    def start_store(self):
        store = engines.Engines()
        self.addCleanup(store.close)
        return store

    def cpu_of(self, pid):
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class SpoolWatch:
    """Looks at the size of all files of a folder, again and again."""

    def __init__(self, folder):
        self._folder = folder
        self._most = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self):
        while not self._ended.wait(0.001):
            sizes = 0
            for path in self._folder.rglob("*"):
                with contextlib.suppress(FileNotFoundError):
                    sizes += path.lstat().st_size if path.is_file() else 0
            self._most = max(self._most, sizes)

    def end(self):
        """The largest that was seen."""
        self._ended.set()
        self._thread.join()
        return self._most
