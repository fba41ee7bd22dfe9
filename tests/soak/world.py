"""Where a suite runs: a folder of its own, with or without recording, programs ended in time.

A suite is a function that takes a World and returns a result for each name: {"test_x": "passed", …}.
It does the same things in both worlds; what differs between the two is swipr's doing."""

import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

from support.deadline import wait_until

RATE = 1000
WAIT_SECONDS = 60  # for a server to get ready; machines that run suites are busy


class Outcome:
    def __init__(self, code, out, err):
        self.code = 128 - code if isinstance(code, int) and code < 0 else code  # as a shell, and swipr, say it
        self.out = out
        # What `swipr record` itself says is not the program's.
        self.err = b"".join(line for line in err.splitlines(True) if not line.startswith(b"swipr: "))

    def __str__(self):
        return f"exit code {self.code}, said {self.out[-200:]!r}, {self.err[-300:]!r}"


class World:
    def __init__(self, folder, build, recorded, deadline):
        self.folder = pathlib.Path(folder)
        self.recorded = recorded
        self.recordings = []
        self.finished = True  # no program had to be ended
        self._started = []
        self._build = pathlib.Path(build)
        self._deadline = deadline  # of time.monotonic()
        self._products = self.folder / "swipr"
        self._products.mkdir(parents=True)
        for product in ("cli/swipr", "preload/libswipr_preload.so"):
            shutil.copy(self._build / product, self._products)
        self.sockets = self.folder / "sockets"
        self.sockets.mkdir(mode=0o700)
        # `swipr record` keeps unwind tables in the user's cache: not among what the program has written.
        self._cache = self.folder / "cache"
        self._cache.mkdir(mode=0o700)
        self.work = self.folder / "work"
        self.work.mkdir()

    def give_to(self, user):
        """From here on this user's programs run here: the sockets are theirs."""
        account = pwd.getpwnam(user)
        for path in (self.folder, self.sockets, self._cache, self.work):
            os.chown(path, account.pw_uid, account.pw_gid)

    def environment(self):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("SWIPR", "LD_")) and key != "XDG_RUNTIME_DIR"}
        kept.update(LC_ALL="C.UTF-8", TZ="UTC", HOME=str(self.work),
                    XDG_CACHE_HOME=str(self._cache), SWIPR_SOCKET_DIR=str(self.sockets),
                    SWIPR_PROGRAM=str(self._products / "swipr"),
                    SWIPR_PRELOAD=str(self._products / "libswipr_preload.so"))
        return kept

    def _command(self, arguments, user, recorded):
        arguments = [str(argument) for argument in arguments]
        if recorded:
            path = self.work.parent / f"{len(self.recordings)}.swipr"
            self.recordings.append(path)
            arguments = [str(self._products / "swipr"), "record", "--rate", str(RATE), "-o", str(path),
                         "--", *arguments]
        if user is not None and os.geteuid() == 0:
            arguments = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *arguments]
        return arguments

    def seconds_left(self, wanted):
        return max(1.0, min(wanted, self._deadline - time.monotonic()))

    def start(self, *arguments, user=None, cwd=None, recorded=True, stdin=subprocess.DEVNULL):
        """A program that runs beside others. `recorded`: where anything is recorded."""
        command = self._command(arguments, user, recorded and self.recorded)
        process = subprocess.Popen(command, cwd=cwd or self.work, env=self.environment(), stdin=stdin,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self._started.append(process)
        return process

    def finish(self, process, seconds=120):
        try:
            out, err = process.communicate(timeout=self.seconds_left(seconds))
            return Outcome(process.returncode, out, err)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.finished = False
            return Outcome("none: it did not end", out, err)

    def end(self):
        """What a suite that failed has left running."""
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def run(self, *arguments, seconds=120, **options):
        return self.finish(self.start(*arguments, **options), seconds)

    def pid_of(self, process):
        """The program's: `swipr record` is its parent."""
        if not self.recorded:
            return process.pid
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        return int(wait_until(lambda: children.read_text().split(), "the program below swipr", WAIT_SECONDS)[0])

    def check_recordings(self):
        """One line for each that does not convert; and what all of them hold."""
        wrong, samples, processes = [], 0, 0
        for path in self.recordings:
            told = subprocess.run([self._products / "swipr", "report", "--json", path], env=self.environment(),
                                  capture_output=True, check=False)
            if told.returncode != 0:
                wrong.append(f"{path.name}: {told.stderr.decode(errors='replace').strip()}")
                continue
            images = json.loads(told.stdout)["processes"]
            processes += len(images)
            samples += sum((image["totals"] or {}).get("samples", 0) for image in images)
        return wrong, samples, processes
