"""What each profiler costs a server: its CPU time and the number of requests that it answers.

The servers are those of bench/languages/servers, with their packages from PyPI and npm. Three connections ask for
pages from start to end, as fast as they are answered.
"""
import functools
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import types
import urllib.request

from scenarios import judges
from scenarios.guest import PRELOAD, Program, run
from scenarios.language_programs import FOLDER, Mark, process_cpu, runtime_in_path, version

COLUMNS = ("server", "profiler", "CPU time per request", "95 % interval", "requests per second", "95 % interval")
SOURCES = FOLDER / "servers"
NAMES = {"Python": "Flask under gunicorn, one process with three threads", "Java": "the JDK's HTTP server, three threads",
         "JavaScript": "express"}


@functools.cache
def packages():
    """A folder with the servers and what they need."""
    folder = tempfile.TemporaryDirectory()
    at = pathlib.Path(folder.name)
    run("cp", *SOURCES.iterdir(), FOLDER / "v8_profiler.js", at)
    run(sys.executable, "-m", "venv", at / "python")
    run(at / "python/bin/pip", "install", "--quiet", "-r", at / "requirements.txt")
    run("npm", "install", "--prefix", at, "--no-audit", "--no-fund", "--ignore-scripts", "--silent")
    run("javac", "-nowarn", "-d", at, at / "Server.java")
    return folder


def command(language, at, port):
    if language == "Python":
        return at / "python/bin/gunicorn", "--workers", 1, "--threads", 3, "--chdir", at, "--bind", f"127.0.0.1:{port}", "server:app"
    if language == "Java":
        return runtime_in_path(language), "-Xmx256m", "-Dsun.net.httpserver.nodelay=true", "-cp", at, "Server", port
    return runtime_in_path(language), at / "server.js", port


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server with requests, under the preload. Offers what the profilers of judges.py ask of a program."""

    command = Program.command
    answer = Program.answer

    def __init__(self, language, seconds_of_warming):
        self.language = language
        self.folder = tempfile.TemporaryDirectory()
        self.address = f"http://127.0.0.1:{(port := free_port())}/"
        words = [str(word) for word in command(language, pathlib.Path(packages().name), port)]
        self.environment = Program.environment_in(self.folder.name)
        self.first = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      text=True, env=dict(self.environment, LD_PRELOAD=str(PRELOAD)))
        self.await_answer()
        self.process = self.first if language != "Python" else types.SimpleNamespace(pid=self.only_child())
        self.load = subprocess.Popen(["wrk", "-t1", "-c3", "-d", "100000s", self.address], stdout=subprocess.DEVNULL)
        time.sleep(seconds_of_warming)

    def await_answer(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                return self.served()
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the server in {self.language} does not answer at {self.address}")

    def only_child(self):
        children = pathlib.Path(f"/proc/{self.first.pid}/task/{self.first.pid}/children").read_text().split()
        (child,) = map(int, children)
        return child

    def served(self):
        with urllib.request.urlopen(f"{self.address}mark", timeout=5) as answer:
            return int(answer.read())

    def mark(self):
        return Mark(process_cpu(self.process.pid), self.served(), [])

    def end(self):
        for process in (self.load, self.first):
            process.terminate()
            process.wait()
        self.folder.cleanup()


def rows(language, rounds, seconds):
    server = Server(language, 5 * seconds)
    found = judges.slices(server, rounds, seconds)
    server.end()
    return [(NAMES[language], name, *judges.change(slices, "cpu"), *judges.change(slices, "rate"))
            for name, slices in found.items()]


def table(rounds, seconds):
    return [row for language in NAMES for row in rows(language, rounds, seconds)]


def versions():
    return ", ".join(f"{language} {version(runtime_in_path(language))}" for language in ("Java", "JavaScript"))
