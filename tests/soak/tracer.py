"""Attaches functions chosen at random to the processes of a suite, and detaches them, in random order, while the suite
runs. The suite's results say whether a program noticed; the tracer checks that no changed byte stays."""

import collections
import functools
import pathlib
import random
import re
import struct
import subprocess
import threading
import time

from support import products, tracing

MOST_FUNCTIONS = 8  # of a stream
FUNCTIONS_OF_A_PROCESS = 240  # 256 can be traced in its life
SECONDS_TO_DETACH = 10
# Of all functions few are called: these are among those to begin with.
CALLED = re.compile(r"malloc|free|calloc|realloc|read|write|recv|send|poll|epoll_wait|strtol|snprintf|memchr|fork|wait4|_Zn[wa]m|_Zd[la]Pv|"
                    r"_Z4fall\w+|_Z8catch_it\w+|Py(Object|Dict|List|Tuple|Unicode|Long|Mem)_\w+|sqlite3_\w+|(in|de)flate|EVP_\w+|lua_\w+")


@functools.cache
def _functions_of(path):
    """Image addresses of the functions of a file, from its table of call frame information; none: it has no build-id."""
    try:
        products.build_id(path)
        sections = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
        address, offset, size = (int(text, 16) for text in re.search(r"\.eh_frame_hdr +PROGBITS +(\w+) (\w+) (\w+)", sections).groups())
        table = pathlib.Path(path).read_bytes()[offset : offset + size]
    except (AssertionError, AttributeError, IndexError, OSError, subprocess.CalledProcessError):
        return []
    # LSB, "Exception Frames": version, three encodings, pointer, count, pairs of offsets from the table's begin.
    if table[:4] != b"\x01\x1b\x03\x3b":
        return []
    count = struct.unpack_from("<I", table, 8)[0]
    return [address + struct.unpack_from("<i", table, 12 + 8 * at)[0] for at in range(count)]


@functools.cache
def _functions_known_by_name(path):
    try:
        named = {**tracing.functions(path), **tracing.functions(path, dynamic=True)}
    except subprocess.CalledProcessError:
        return set()
    return {address for name, address in named.items() if CALLED.fullmatch(name)}.intersection(_functions_of(path))


class Tracer(threading.Thread):
    """Between start() and stop(). `wrong`: a line for each process that was left changed."""

    called = set()  # (address, path) of functions that had calls; of all suites

    def __init__(self, sockets, seed):
        super().__init__(daemon=True)
        self._sockets = pathlib.Path(sockets)
        self._choice = random.Random(seed)
        self._is_stopped = threading.Event()
        self._found = {}  # by process: code that others have changed, and functions to choose from
        self.attached = self.calls = 0
        self.refused = collections.Counter()  # by reason
        self.processes = set()
        self.wrong = []

    def stop(self):
        self._is_stopped.set()
        self.join()

    def run(self):
        while not self._is_stopped.wait(0.01):
            sockets = [path for path in self._sockets.glob("*.sock") if path.stem.isdigit()]
            if not sockets:
                continue
            socket = self._choice.choice(sockets)
            try:
                self._trace(int(socket.stem), socket)
            except (OSError, AssertionError, StopIteration, ValueError):
                pass  # the process ends, or executes another program

    def _look_at(self, pid):
        """A process that executes another program is a new one."""
        started = (pid, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19],
                   str(pathlib.Path(f"/proc/{pid}/exe").readlink()))
        if started not in self._found:
            changed = tracing.changed_code(pid)
            self._found[started] = changed, self._choose_functions(pid)
        return started, *self._found[started]

    def _choose_functions(self, pid):
        """As many of those that are known to be called, or likely to be, as of all."""
        files = [path for path in tracing.mapped_files(pid) if "libswipr" not in path]
        known = {function for function in Tracer.called if function[1] in files}
        known |= {(address, path) for path in files for address in _functions_known_by_name(path)}
        everything = [(address, path) for path in files for address in _functions_of(path)]
        groups = [group for group in (sorted(known), everything) if group]
        return [self._choice.sample(group, min(FUNCTIONS_OF_A_PROCESS // 2, len(group))) for group in groups]

    def _trace(self, pid, socket):
        process, changed, groups = self._look_at(pid)
        if not groups:
            return
        count = self._choice.randrange(1, MOST_FUNCTIONS + 1)
        wanted = list({self._choice.choice(self._choice.choice(groups)) for _ in range(count)})
        options = self._choice.choice([{}, {"sampling": True}, {"slower": "20 us", "frames": 8}, {"threads": True}])
        stream = tracing.Stream(socket, wanted, **options)
        try:
            if self._choice.random() < 0.9:  # otherwise in the middle of an attach
                self._read(stream, wanted, process)
        finally:
            stream.close()
        if self._choice.random() < 0.1:
            self._check(pid, process, changed)

    def _read(self, stream, wanted, process):
        answers = stream.read_answers(len(wanted))
        attached = sum(answer.state == tracing.ATTACHED for answer in answers)
        self.attached += attached
        self.refused.update(re.sub(r"\d+", "N", answer.text) for answer in answers if answer.state == tracing.REFUSED)
        if attached:
            self.processes.add(process)
        self._is_stopped.wait(self._choice.random() * 0.2)
        if self._choice.random() < 0.7:
            for line, calls in stream.end().items():
                self.calls += calls
                if calls:
                    Tracer.called.add(wanted[line])

    def _check(self, pid, process, before):
        end = time.monotonic() + SECONDS_TO_DETACH
        while True:
            changed = tracing.changed_code(pid)
            if set(changed) <= set(before) or self._look_at(pid)[0] != process:
                return
            if time.monotonic() > end:
                self.wrong.append(f"the code of {process[2]} is still changed: {changed}")
                return
            time.sleep(0.1)

    def __str__(self):
        refused = ", ".join(f"{count} {reason}" for reason, count in self.refused.most_common(3))
        return (f"{self.attached:,} functions attached in {len(self.processes)} processes, {self.calls:,} calls;"
                f" {sum(self.refused.values()):,} refused ({refused})")
