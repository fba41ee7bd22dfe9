"""A client that asks a process to trace functions, below `swipr latency`: it reads PROBE and LATENCY, and can
stop reading or vanish at any moment. Written from docs/RAW_FORMAT.md."""

import http.client
import json
import pathlib
import re
import socket
import subprocess

from support import deadline, products, raw
from support.varint import read_varint

PROBE, LATENCY, SLOW_CALL = 17, 18, 21
ATTACHED, REFUSED, DETACHED = range(3)


class Probe:
    def __init__(self, body):
        numbers, at = [], 0
        for _ in range(6):
            value, at = read_varint(body, at)
            numbers.append(value)
        self.line, self.state, self.reason, self.time_ns, self.address, self.size = numbers
        length, at = read_varint(body, at)
        self.text = body[at : at + length].decode()


class Latency:
    def __init__(self, body):
        numbers, at = [], 0
        while at < len(body):
            value, at = read_varint(body, at)
            numbers.append(value)
        self.line, self.tid = numbers[:2]
        self.sum_ns, self.max_ns, self.unwound, self.untraced, self.open = numbers[5:10]
        self.calls = sum(numbers[11::2])


class Stream:
    """A recording that traces functions: pairs of an image address and the path of a module."""

    def __init__(self, socket_path, functions, *, interval="20 ms", overhead="1000%", **fields):
        body = {
            "probes": "\n".join(f"0x{address:x} build-id {products.build_id(path)}" for address, path in functions),
            "sampling": False, "timeInterval": interval, "latencyInterval": interval, "maxOverhead": overhead}
        self._data = b""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(2 * deadline.DEADLINE_SECONDS)
        self._socket.connect(str(socket_path))
        text = json.dumps({**body, **fields}).encode()
        self._socket.sendall(b"POST /v1/record HTTP/1.0\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))

    def _read_more(self):
        more = self._socket.recv(1 << 16)
        self._data += more
        return bool(more)

    def _bodies(self, wanted):
        head, _, data = self._data.partition(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0] or len(data) < raw.FILE_HEADER_BYTES:
            return []
        return [body for _, payload in raw.blocks(data) for kind, body in raw.records(payload) if kind == wanted]

    def probes(self):
        return [Probe(body) for body in self._bodies(PROBE)]

    def latencies(self):
        return [Latency(body) for body in self._bodies(LATENCY)]

    def slow_calls(self):
        return self._bodies(SLOW_CALL)

    def strings(self):
        """(number of the value, size, bytes) of the strings of all slow calls."""
        found = []
        for body in self.slow_calls():
            at = 0

            def number():
                nonlocal at
                value, at = read_varint(body, at)
                return value

            flags = [number() for _ in range(7)][2]
            for _ in range(6 if flags & 2 else 0):
                number()
            for _ in range(number()):  # callers: as long as unsigned ones
                number()
            for _ in range(number()):
                value, size, count = number(), number(), number()
                found.append((value, size, body[at : at + count]))
                at += count
            assert at == len(body)
        return found

    def read_until(self, condition):
        while not condition(self):
            if not self._read_more():
                raise AssertionError(f"the stream ended: {self._data[:400]!r}")
        return self

    def read_answers(self, count):
        """One PROBE for each function."""
        return self.read_until(lambda stream: len(stream.probes()) >= count).probes()[:count]

    def end(self):
        """Asks for the end and reads it. The calls of each function."""
        self._socket.shutdown(socket.SHUT_WR)
        while self._read_more():
            pass
        self.close()
        calls = {}
        for latency in self.latencies():
            if latency.tid != 0:
                continue  # of one thread
            calls[latency.line] = calls.get(latency.line, 0) + latency.calls
        return calls

    def has_ended(self):
        return bool(self._bodies(raw.END))

    def close(self):
        self._socket.close()


def functions(path, dynamic=False):
    """Image addresses of a file's functions by their names, as the linker has them."""
    output = subprocess.run(["nm", "-D" if dynamic else "-a", "--defined-only", str(path)], check=True,
                            capture_output=True, text=True).stdout
    found = {}
    for line in output.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "tTwW":
            found[fields[2].split("@")[0]] = int(fields[0], 16)
    return found


def mapped_files(pid):
    """Paths of the files that the process executes."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return sorted(set(re.findall(r"r-xp .* (/\S+)$", maps, re.M)))


def changed_code(pid):
    """(path, offset) of the first byte of each mapping of code that differs from its file."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) < 6 or "x" not in fields[1] or not fields[5].startswith("/"):
                continue
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            if "w" in fields[1]:
                found.append((fields[5], "is writable"))
            memory.seek(begin)
            code = memory.read(end - begin)
            with open(fields[5], "rb") as file:
                file.seek(int(fields[2], 16))
                original = file.read(end - begin)
            if code[: len(original)] != original:
                at = next(i for i, (a, b) in enumerate(zip(code, original)) if a != b)
                found.append((fields[5], hex(int(fields[2], 16) + at)))
    return found
