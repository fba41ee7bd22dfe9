"""An agent with files, a spool and stores of its own, and programs that it records."""

import json
import os
import sys

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
        return [json.loads(path.read_text()) for path in sorted(self.out.glob("profile_*.json"))]

    def wait_for_slices(self, count):
        deadline.wait_until(lambda: len(list(self.out.glob("profile_*.json"))) >= count, f"{count} slices")

    def entries_of(self, pid):
        return [one for slice_ in self.accounts() for one in slice_["processes"] if one["pid"] == pid]

    def stored_cpu(self, store):
        return sum(one["types"]["cpu/nanoseconds"]["total"] for one in store.received() if one["api"] != "studio")

    def known_cpu(self):
        return sum(slice_["recorded_ns"] + slice_["unrecorded_ns"] for slice_ in self.accounts())

    def start_store(self):
        store = engines.Engines()
        self.addCleanup(store.close)
        return store

    def cpu_of(self, pid):
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
