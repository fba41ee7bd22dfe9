"""A process that answers `swipr latency` with streams that the test makes up: states and damages that no
real process has when a test needs them. Written from docs/RAW_FORMAT.md."""

import json
import os
import socket
import struct
import threading
import zlib

SOURCE, MODULE, TICK, END, PROBE, LATENCY = 1, 2, 6, 8, 17, 18
ATTACHED, REFUSED, DETACHED = range(3)
SECOND = 1_000_000_000


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def string(text):
    data = text.encode() if isinstance(text, str) else text
    return varint(len(data)) + data


def record(kind, *fields):
    """Numbers become varints; texts and bytes get their length before them."""
    body = b"".join(varint(each) if isinstance(each, int) else string(each) for each in fields)
    return bytes([kind]) + varint(len(body)) + body


def block(*records):
    payload = b"".join(records)
    return struct.pack("<4sIII", b"SWBK", 0, len(payload), zlib.crc32(payload)) + payload


def source():
    return record(SOURCE, os.getpid(), 1, 0, 0, 10_000_000, 0, 62, "0", "fake", "/fake", "")


def tick():
    return record(TICK, 1000)


def end(reason=0, text=""):
    return record(END, reason, SECOND, text)


def probe(number, state, text=""):
    return record(PROBE, number, state, 0 if state == ATTACHED else 3, 0, 0x1000, 64, text)


def bucket_of(ns):
    shift = max(ns.bit_length() - 6, 0)
    return 32 * shift + (ns >> shift) if ns >= 64 else ns


def latency(number, begin, length, durations, *, longest=None, unwound=0, untraced=0, still_open=0):
    buckets, previous = [], -1
    for bucket in sorted({bucket_of(each) for each in durations}):
        buckets += [bucket - previous - 1, sum(bucket_of(each) == bucket for each in durations)]
        previous = bucket
    longest = max(durations, default=0) if longest is None else longest
    return record(LATENCY, number, 0, 0, begin, length, sum(durations), longest, unwound, untraced, still_open,
                  *buckets)


class FakeProcess:
    """Listens as this test's own process. `answer(request, send)` writes the blocks of a stream with probes;
    `send(bytes)` sends them. The first stream of a client has the modules."""

    def __init__(self, folder, module, build_id, answer):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / f"{os.getpid()}.sock"))
        self._listener.listen(8)
        self._module = record(MODULE, 1, 0x400000, 0x100000, 0, 0x400000, bytes.fromhex(build_id), str(module))
        self._answer = answer
        self.requests = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        """Returns when nobody accepts any more: the next listener may get the same descriptor."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_one, args=(client,), daemon=True).start()

    def _serve_one(self, client):
        with client:
            data = b""
            while b"\r\n\r\n" not in data:
                data += client.recv(4096) or b"\r\n\r\n"
            head, _, body = data.partition(b"\r\n\r\n")
            size = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                         if line.lower().startswith(b"content-length:")), 0)
            while len(body) < size:
                body += client.recv(4096)
            if not body:
                return
            request = json.loads(body)
            self.requests.append(request)
            start = b"\x89SWIPR\r\n" + struct.pack("<H6x", 1) + block(source(), self._module)
            client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + start)
            try:
                if "probes" in request:
                    self._answer(client, client.sendall)
                else:
                    client.sendall(block(tick(), end()))
            except OSError:
                return  # the client has ended
