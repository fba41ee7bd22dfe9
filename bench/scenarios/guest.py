"""Starts, queries and records the measured programs."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"
SWIPR = BUILD / "cli/swipr"
PRELOAD = BUILD / "preload/libswipr_preload.so"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


class Program:
    """A program that answers each line with one line; under the preload by default. `blocks`: whether a read of its input
    waits for it."""

    def __init__(self, *command, preload=True, environment=None, blocks=True):
        self.folder = tempfile.TemporaryDirectory()
        self.environment = self.environment_in(self.folder.name)
        own = dict(self.environment, **(environment or {}))
        if preload:
            own["LD_PRELOAD"] = str(PRELOAD)
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env=own, preexec_fn=None if blocks else lambda: os.set_blocking(0, False))
        self.ready = self.answer()

    @staticmethod
    def environment_in(folder):
        return dict(os.environ, SWIPR_SOCKET_DIR=folder)

    def answer(self):
        return self.process.stdout.readline().split()

    def command(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.answer()

    def status(self, name, task=None):
        folder = f"/proc/{self.process.pid}" + (f"/task/{task}" if task else "")
        text = pathlib.Path(folder, "status").read_text()
        return int(re.search(rf"^{name}:\s+(\d+)", text, re.M).group(1))

    def resident_kib(self):
        return self.status("VmRSS")

    def control_thread(self):
        """The tid of swipr's own thread."""
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == "swipr":
                return int(task.name)
        raise RuntimeError("no control thread: is the preload built?")

    def record(self, hertz, seconds, *options):
        """One recording; its totals."""
        output = pathlib.Path(self.folder.name) / "bench.swipr"
        run(SWIPR, "record", "--pid", self.process.pid, "--rate", hertz, "--duration", f"{seconds}s",
            *options, "-o", output, env=self.environment, stderr=subprocess.DEVNULL)
        return self.totals_of(output)

    @contextlib.contextmanager
    def recording(self, hertz, *options):
        """A recording that has begun and ends after the block: its start and end are not measured.

        The dictionary that it gives has the totals when it has ended.
        """
        output = pathlib.Path(self.folder.name) / "begun.swipr"
        output.unlink(missing_ok=True)
        recorder = subprocess.Popen([SWIPR, "record", "--pid", str(self.process.pid), "--rate", str(hertz), *options, "-o", output],
                                    env=self.environment, stderr=subprocess.DEVNULL)
        while not output.exists() or output.stat().st_size == 0:
            time.sleep(0.01)
        time.sleep(0.3)
        totals = {}
        yield totals
        recorder.send_signal(signal.SIGINT)
        if recorder.wait() != 0:
            raise RuntimeError("the recording failed")
        totals.update(self.totals_of(output))

    def totals_of(self, output):
        report = run(SWIPR, "report", "--json", output, stdout=subprocess.PIPE,
                     stderr=subprocess.DEVNULL).stdout
        process = json.loads(report)["processes"][0]
        return {**process["totals"], "bytes": output.stat().st_size, "duration_ns": process["duration_ns"]}

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


class Guest(Program):
    """bench_guest_program: one busy thread that counts its work, and waiting ones."""

    def __init__(self, blocked=0, wakes=0, frame_pointers=False, **options):
        name = "bench_guest_program_fp" if frame_pointers else "bench_guest_program"
        super().__init__(BUILD / "bench" / name, blocked, wakes, **options)

    def mark(self):
        return [int(word) for word in self.command("mark")]
