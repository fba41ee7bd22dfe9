"""The base of every integration test: a private folder, private sockets, programs that are started in
it, and the promise, checked after each test, that none of them is left."""

import http.client
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from support import deadline, products, profiles, raw, root

NOBODY = 65534
_TAG = "SWIPR_TEST_TAG"


class Finished:
    """A program that has ended."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err.decode("utf-8", "replace")

    def __repr__(self):
        return f"exit code {self.code}, stderr {self.err!r}, {len(self.out)} bytes on stdout"


class Running:
    """A program that was started: stdin is a pipe, stdout is read line by line, stderr is a file."""

    def __init__(self, process, err_path):
        self.process = process
        self.pid = process.pid
        self._err_path = err_path

    def read_line(self):
        """The next line of its output; the test's own deadline is ctest's."""
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"program ended early, stderr: {self.err()}")
        return line.decode().rstrip("\n")

    def wait_ready(self):
        while self.read_line() != "ready":
            pass

    def send(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def signal(self, number):
        self.process.send_signal(number)

    def err(self):
        return pathlib.Path(self._err_path).read_text(errors="replace")

    def end(self, seconds=deadline.DEADLINE_SECONDS):
        """Closes stdin, which ends every target, and waits."""
        try:
            out, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise deadline.DeadlineExceeded(f"{self.process.args} did not end") from None
        return Finished(self.process.returncode, out, self.err().encode())

    def wait(self, seconds=2 * deadline.DEADLINE_SECONDS):
        """Waits for the end with stdin left open."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise deadline.DeadlineExceeded(f"{self.process.args} did not end") from None
        return Finished(self.process.returncode, self.process.stdout.read(), self.err().encode())


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=2 * deadline.DEADLINE_SECONDS)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Response:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.body)


class SwiprCase(unittest.TestCase):
    """`confined` runs everything (targets and swipr) as nobody, without capabilities, behind the
    seccomp filter of tests/targets/guest/confined.c."""

    confined = False

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="swipr-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.sockets = self.folder / "sockets"
        self.sockets.mkdir(mode=0o700)
        self._tag = secrets.token_hex(8)
        self._started = []
        self._count = 0
        self.program, self.preload, self._launcher = products.swipr(), products.preload(), []
        if self.confined:
            self._stage_for_nobody()
        self.root = root.current()
        if self.root:
            self.preload = pathlib.Path(shutil.copy(self.preload, self.folder))
        self.addCleanup(self._check_nothing_is_left)

    def _stage_for_nobody(self):
        """Copies of the products where nobody can reach them: the build may be in a private folder."""
        stage = self.folder / "stage"
        shutil.copytree(products.target("confined").parent, stage, ignore=shutil.ignore_patterns("CMake*", "*.cmake"))
        self.program = pathlib.Path(shutil.copy(self.program, stage))
        self.preload = pathlib.Path(shutil.copy(self.preload, stage))
        self._launcher = [str(stage / "confined")]
        self.folder.chmod(0o755)
        if os.geteuid() == 0:
            for path in (self.folder, self.sockets, *stage.rglob("*"), stage):
                os.chown(path, NOBODY, NOBODY)

    def target_path(self, name):
        if self.root:
            return root.TARGETS / name
        return self.folder / "stage" / name if self.confined else products.target(name)

    # Programs.

    def environment(self, extra=None):
        clean = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("SWIPR", "PROFILE_RECORDER", "LD_")) and key != "XDG_RUNTIME_DIR"
        }
        clean.update(
            SWIPR_SOCKET_DIR=str(self.sockets),
            SWIPR_PROGRAM=str(self.program),
            SWIPR_PRELOAD=str(self.preload),
            TMPDIR=str(self.folder),
            XDG_CACHE_HOME=str(self.folder / "cache"),
            LC_ALL="C.UTF-8",
        )
        clean[_TAG] = self._tag
        clean.update(extra or {})
        return clean

    def start(self, *command, env=None, stdin=subprocess.PIPE, stdout=subprocess.PIPE, preloaded=False, cwd=None, pass_fds=()):
        """Starts any program. The preload is set by env(1) so that a launcher is not recorded."""
        command = [str(part) for part in command]
        if preloaded:
            command = ["/usr/bin/env", f"LD_PRELOAD={self.preload}", *command]
        launcher = self._launcher
        if self.root and command[0] != str(self.program):
            launcher = root.launcher(self.root, cwd or self.folder)
        self._count += 1
        err_path = self.folder / f"stderr-{self._count}"
        with open(err_path, "wb") as err:
            process = subprocess.Popen(
                launcher + command,
                stdin=stdin,
                stdout=stdout,
                stderr=err,
                env=self.environment(env),
                cwd=cwd or self.folder,
                pass_fds=pass_fds,
                start_new_session=True,
                bufsize=0,  # nothing is read ahead: lines and communicate() mix
            )
        self._started.append(process)
        return Running(process, err_path)

    def start_target(self, name, *arguments, env=None, ready=True, preloaded=True):
        running = self.start(self.target_path(name), *arguments, env=env, preloaded=preloaded)
        if ready:
            running.wait_ready()
            if preloaded and not (env or {}).keys() & {"SWIPR_DISABLE", "SWIPR_ONLY", "SWIPR_SERVER_URL"}:
                self.wait_for_socket(running.pid)
        return running

    def socket_of(self, pid):
        return self.sockets / f"{pid}.sock"

    def wait_for_socket(self, pid):
        deadline.wait_until(self.socket_of(pid).exists, f"the socket of process {pid}")
        return self.socket_of(pid)

    def start_swipr(self, *arguments, **options):
        return self.start(self.program, *arguments, **options)

    def swipr(self, *arguments, stdin_bytes=None, expect=0, **options):
        """Runs swipr to its end. `expect`: the exit code that it must have; None: any."""
        if self.root and arguments[0] in ("convert", "report"):
            arguments += ("--symfs", self.root)
        if stdin_bytes is None:
            running = self.start_swipr(*arguments, stdin=subprocess.DEVNULL, **options)
            finished = running.end(seconds=4 * deadline.DEADLINE_SECONDS)
        else:
            running = self.start_swipr(*arguments, **options)
            out, _ = running.process.communicate(stdin_bytes, timeout=4 * deadline.DEADLINE_SECONDS)
            finished = Finished(running.process.returncode, out, running.err().encode())
        if expect is not None:
            self.assertEqual(finished.code, expect, f"swipr {' '.join(map(str, arguments))}: {finished}")
        return finished

    # Recordings.

    def record(self, pid, *arguments):
        """Records into a file of its own; its path."""
        self._count += 1
        path = self.folder / f"recording-{self._count}.swipr"
        self.swipr("record", "--pid", pid, "-o", path, *arguments)
        return path

    def convert(self, path, fmt="collapsed", *arguments):
        """The stacks of a recording in that format."""
        return profiles.parse(self.swipr("convert", path, "--format", fmt, *arguments).out, fmt)

    def start_streaming(self, pid, *arguments):
        """A recording that has begun: (running swipr, the bytes so far). Ticks are known to arrive."""
        running = self.start_swipr("record", "--pid", pid, "-o", "-", *arguments)
        data = self.read_until(running, b"", raw.has_tick)
        return running, data

    def read_until(self, running, data, condition):
        """Reads a stream on until condition(all bytes so far)."""
        while not condition(data):
            more = os.read(running.process.stdout.fileno(), 1 << 16)
            if not more:
                raise AssertionError(f"the stream ended early; stderr: {running.err()}")
            data += more
        return data

    def finish_streaming(self, running, data):
        """Ctrl-C, the rest of the stream, and the whole recording as a file."""
        running.signal(signal.SIGINT)
        finished = running.end()
        self.assertEqual(finished.code, 0, repr(finished))
        self._count += 1
        path = self.folder / f"stream-{self._count}.swipr"
        path.write_bytes(data + finished.out)
        return path

    def finish_streaming_when(self, running, data, condition):
        """Records on until the stacks so far fulfil the condition (a cut-off file converts), then ends."""
        progress = self.folder / "so-far.swipr"

        def is_fulfilled():
            nonlocal data
            data = self.read_until(running, data, lambda now, seen=len(data): len(now) > seen)
            progress.write_bytes(data)
            return condition(self.convert(progress))

        deadline.wait_until(is_fulfilled, "a recording that fulfils the condition", seconds=4 * deadline.DEADLINE_SECONDS)
        return self.finish_streaming(running, data)

    def listed(self):
        """What `swipr list` shows of this test's programs; it finds those of other tests as well."""
        entries = json.loads(self.swipr("list", "--json").out)
        return [entry for entry in entries if entry["socket"].startswith(f"{self.sockets}/")]

    # HTTP.

    def request(self, place, method, path, body=None, headers=None):
        """`place`: a socket's path, or "127.0.0.1:port"."""
        if isinstance(place, str):
            connection = http.client.HTTPConnection(place, timeout=2 * deadline.DEADLINE_SECONDS)
        else:
            connection = _UnixConnection(place)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return Response(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    # Assertions.

    def assert_one_line_error(self, finished, *expected_words, codes=(1, 2)):
        """One line on stderr that begins with "swipr", the right exit code, nothing on stdout."""
        self.assertIn(finished.code, codes, repr(finished))
        lines = finished.err.splitlines()
        self.assertEqual(len(lines), 1, repr(finished))
        self.assertTrue(lines[0].startswith("swipr"), lines[0])
        for word in expected_words:
            self.assertRegex(lines[0].lower(), word)

    def assert_chain(self, stacks, chain, thread=None):
        """Some stack (of that thread) holds these frames, root first and consecutive."""
        for stack in stacks:
            if thread is not None and stack.thread != thread:
                continue
            for at in range(len(stack.frames) - len(chain) + 1):
                if stack.frames[at : at + len(chain)] == list(chain):
                    return
        seen = [s.frames for s in stacks if thread is None or s.thread == thread]
        self.fail(f"no stack of {thread or 'any thread'} has {chain}; seen: {seen[:8]}")

    # Nothing is left.

    def _survivors(self):
        found = []
        wanted = f"{_TAG}={self._tag}".encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if wanted not in file.read().split(b"\0"):
                        continue
                with open(f"/proc/{entry}/stat") as file:
                    if file.read().rpartition(")")[2].split()[0] != "Z":
                        found.append(int(entry))
            except OSError:
                continue  # gone, or not ours
        return found

    def _check_nothing_is_left(self):
        for process in self._started:
            for stream in (process.stdin, process.stdout):
                if stream:
                    try:
                        stream.close()
                    except OSError:
                        pass  # a program that died before it read its input
        running = []
        for process in self._started:
            try:
                process.wait(timeout=0 if running else deadline.DEADLINE_SECONDS)
            except subprocess.TimeoutExpired:
                running.append(process)
        for process in running:  # all of them, before the failure ends this
            process.kill()
            process.wait()
        self._kill_survivors()
        if running:
            self.fail(f"still running after stdin was closed: {[process.args for process in running]}")

    def _kill_survivors(self):
        try:
            deadline.wait_until(lambda: not self._survivors(), "the end of all programs of the test", 10)
        except deadline.DeadlineExceeded:
            left = {}
            for pid in self._survivors():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        left[pid] = file.read().replace(b"\0", b" ").decode()
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    continue
            self.fail(f"processes left behind: {left}")
