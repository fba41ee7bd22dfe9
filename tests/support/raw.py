"""A reader of .swipr just good enough for tests: blocks, record types, source and totals records.
Written from docs/RAW_FORMAT.md, not from swipr's own reader."""

import struct
from dataclasses import dataclass, field

from support.varint import read_varint

FILE_MAGIC = b"\x89SWIPR\r\n"
FILE_HEADER_BYTES = 16
BLOCK_HEADER_BYTES = 16
WALL, CPU, OFF_CPU = range(3)
SOURCE, MODULE, MODULE_GONE, THREAD, STACK, TICK, TOTALS, END, MESSAGE, NAMES, CODE, CODE_GONE = range(1, 13)


def _string(data, at):
    length, at = read_varint(data, at)
    return data[at : at + length].decode("utf-8", "replace"), at + length


@dataclass
class Source:
    pid: int = 0
    interval_ns: int = 0
    ticks_asked: int = 0
    command: str = ""
    executable: str = ""
    mode: int = 0  # WALL, CPU, OFF_CPU
    ticks: int = 0
    ended: bool = False
    totals: dict = field(default_factory=dict)


def blocks(data):
    """(source index, payload) of every whole block."""
    at = FILE_HEADER_BYTES
    while at + BLOCK_HEADER_BYTES <= len(data):
        magic, source, size, _ = struct.unpack_from("<4sIII", data, at)
        assert magic == b"SWBK", f"no block at {at}: {magic!r}"
        at += BLOCK_HEADER_BYTES
        if at + size > len(data):
            return
        yield source, data[at : at + size]
        at += size


def records(payload):
    """(type, payload) of every record of a block."""
    at = 0
    while at < len(payload):
        kind = payload[at]
        length, at = read_varint(payload, at + 1)
        yield kind, payload[at : at + length]
        at += length


def read(data):
    """The sources of a recording, by index."""
    assert data[:8] == FILE_MAGIC, f"not a .swipr file: {data[:16]!r}"
    sources = {}
    for index, payload in blocks(data):
        source = sources.setdefault(index, Source())
        for kind, body in records(payload):
            if kind == SOURCE:
                _read_source(source, body)
            elif kind == TICK:
                source.ticks += 1
            elif kind == END:
                source.ended = True
            elif kind == TOTALS:
                source.totals = _read_totals(body)
    return sources


def _read_source(source, body):
    numbers = []
    at = 0
    for _ in range(7):
        value, at = read_varint(body, at)
        numbers.append(value)
    source.pid, source.interval_ns, source.ticks_asked = numbers[0], numbers[4], numbers[5]
    _, at = _string(body, at)
    source.command, at = _string(body, at)
    source.executable, at = _string(body, at)
    _, at = _string(body, at)
    source.mode, at = read_varint(body, at)


def _read_totals(body):
    _, at = read_varint(body, 0)
    totals = {}
    while at < len(body):
        name, at = _string(body, at)
        totals[name], at = read_varint(body, at)
    return totals


def without_names(data):
    """The recording without the blocks of names that it carries."""
    kept = data[:FILE_HEADER_BYTES]
    at = FILE_HEADER_BYTES
    for _, payload in blocks(data):
        size = BLOCK_HEADER_BYTES + len(payload)
        if not any(kind in (NAMES, CODE) for kind, _ in records(payload)):
            kept += data[at : at + size]
        at += size
    return kept


def tick_count(data):
    return sum(kind == TICK for _, payload in blocks(data) for kind, _ in records(payload))


def has_tick(data):
    return tick_count(data) > 0
