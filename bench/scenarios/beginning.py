"""Cost of beginning a recording: CPU time of the control thread, private memory."""
import http.client
import json
import pathlib
import socket
import statistics
import tempfile
import time

from scenarios.guest import Guest, Program

COLUMNS = ("program", "tables on file", "first recording", "aim", "the next one")
PYTHON = "/usr/bin/python3"
PROGRAMS = {
    "sleep": ("/bin/sh", "-c", "echo; exec sleep 1000"),
    "python3, asleep": (PYTHON, "-c", "import time; print(flush=True); time.sleep(1000)"),
    "python3, busy": (PYTHON, "-c", "print(flush=True)\nwhile True: pass"),
}
AIMS = {"sleep": (2, 1), "python3, asleep": (5, 2), "python3, busy": (5, 2)}


class Subject(Program):
    def __init__(self, command, cache):
        super().__init__(*command, environment={"XDG_CACHE_HOME": cache, "HOME": cache})
        self.socket = pathlib.Path(self.folder.name) / f"{self.process.pid}.sock"
        while not self.socket.exists():  # exec'd anew
            time.sleep(0.01)
        time.sleep(0.3)  # past the dynamic loader

    def control_cpu_ms(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.control_thread()}/schedstat").read_text().split()[0]) / 1e6

    def recording_ms(self):
        """CPU time of the control thread from the request of one tick to the end of its answer."""
        before = self.control_cpu_ms()
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.socket))
        connection.request("POST", "/v1/record", json.dumps({"numberOfSamples": 1, "timeInterval": "10 ms"}))
        connection.getresponse().read()
        answered = self.control_cpu_ms()
        connection.close()
        time.sleep(0.05)  # what is new is written to files behind the answer
        return answered - before

    def end(self):
        self.process.kill()
        super().end()


def one_round(command, cache):
    """The first recording of a process and its next."""
    tables = pathlib.Path(cache, "swipr/tables")  # as `swipr record` makes it
    tables.mkdir(parents=True, exist_ok=True)
    tables.chmod(0o700)
    subject = Subject(command, cache)
    costs = [subject.recording_ms() for _ in range(2)]
    subject.end()
    return costs


def private_kib(pid):
    """Dirty pages: clean ones of files count as private while no other process maps them."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_Dirty:"))


def memory_of_recording(rounds=5):
    """KiB that a recording at 100 Hz adds to a program of five threads."""
    found = []
    for _ in range(rounds):
        guest = Guest(blocked=4)
        before = private_kib(guest.process.pid)
        with guest.recording(100):
            time.sleep(1)
            found.append(private_kib(guest.process.pid) - before)
        guest.end()
    return statistics.median(found)


def table(rounds):
    rows = []
    for name, command in PROGRAMS.items():
        for warm, aim in zip((False, True), AIMS[name]):
            costs = []
            with tempfile.TemporaryDirectory() as cache:
                if warm:
                    one_round(command, cache)
                for _ in range(rounds):
                    with tempfile.TemporaryDirectory() as empty:
                        costs.append(one_round(command, cache if warm else empty))
            first, second = (statistics.median(column) for column in zip(*costs))
            rows.append((name, "yes" if warm else "no", f"{first:.2f} ms", f"≤ {aim} ms", f"{second:.2f} ms"))
    return rows
