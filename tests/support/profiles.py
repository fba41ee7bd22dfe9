"""Readers of the three output formats. Each returns a list of Stack."""

import gzip
import re
from dataclasses import dataclass, field

from support.varint import read_varint


@dataclass
class Stack:
    thread: str
    frames: list  # root first; inlined functions are frames of their own
    weight: int
    libraries: list = field(default_factory=list)  # parallel to frames, where the format has them
    tid: int = 0
    pid: int = 0
    state: str = ""
    labels: dict = field(default_factory=dict)  # pprof: those with text
    values: dict = field(default_factory=dict)  # pprof: every sample type
    inlined: set = field(default_factory=set)  # perf: names marked [inlined]


def total(stacks):
    return sum(stack.weight for stack in stacks)


def share(stacks, function, among=None):
    """Per cent of the weight that has `function` on the stack, among the stacks of these threads."""
    chosen = [s for s in stacks if among is None or s.thread in among]
    weight = total(chosen)
    return 100.0 * sum(s.weight for s in chosen if function in s.frames) / weight if weight else 0.0


def has_function(stacks, pattern):
    expression = re.compile(pattern)
    return any(expression.search(frame) for stack in stacks for frame in stack.frames)


def parse(data, fmt):
    return {"collapsed": parse_collapsed, "perf": parse_perf, "pprof": parse_pprof}[fmt](data)


def parse_collapsed(data):
    """`thread name;root;…;leaf weight`, sorted, each stack once."""
    lines = data.decode().splitlines()
    without_weights = [line.rpartition(" ")[0] for line in lines]
    assert without_weights == sorted(without_weights), "collapsed lines are not sorted"
    stacks = []
    seen = set()
    for line in lines:
        stack, _, weight = line.rpartition(" ")
        assert stack and weight.isdigit(), f"not a collapsed line: {line!r}"
        assert stack not in seen, f"stack twice: {line!r}"
        seen.add(stack)
        thread, *frames = stack.split(";")
        stacks.append(Stack(thread, frames, int(weight)))
    return stacks


_PERF_HEAD = re.compile(
    r"^(?P<comm>.+)-T(?P<tid>\d+)\s+(?P<pid>\d+)/(?P<tid2>\d+)\s+(?P<time>\d+\.\d{9}):"
    r"\s+(?:(?P<period>\d+)\s+)?swipr:?\s*$"
)
_PERF_FRAME = re.compile(r"^\t\s+(?P<pc>[0-9a-f]+) (?P<name>.*) \((?P<library>[^()]*)\)$")
_PERF_OFFSET = re.compile(r"\+0x[0-9a-f]+$")


def perf_thread_name(name):
    """How a thread is called in perf text: stackcollapse-perf.pl takes a number behind a blank for the
    thread's id, so that blank becomes an underscore."""
    return re.sub(r" (?=\d)", "_", name)


def parse_perf(data):
    """Blocks as `perf script` prints them, innermost frame first."""
    stacks = []
    text = data.decode()
    assert text == "" or text.endswith("\n"), "perf text ends in the middle of a line"
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if lines == [""]:
            continue
        head = _PERF_HEAD.match(lines[0])
        assert head, f"not a perf event line: {lines[0]!r}"
        assert head["tid"] == head["tid2"], lines[0]
        stack = Stack(head["comm"], [], int(head["period"] or 1), tid=int(head["tid"]), pid=int(head["pid"]))
        for line in reversed(lines[1:]):
            if line.startswith("  ") and not line.startswith("\t"):
                continue  # file:line of the frame above
            frame = _PERF_FRAME.match(line)
            assert frame, f"not a perf frame line: {line!r}"
            if frame["library"] == "[swipr]":
                stack.state = frame["name"]  # a frame that says why the thread does not run
                continue
            name = _PERF_OFFSET.sub("", frame["name"]).removeprefix("::")
            if name.endswith(" [inlined]"):
                name = name.removesuffix(" [inlined]")
                stack.inlined.add(name)
            stack.frames.append(name)
            stack.libraries.append(frame["library"])
        stacks.append(stack)
    return stacks


def _fields(data):
    """(number, value) of a protobuf message; value is an int or bytes."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = read_varint(data, at)
        elif wire == 2:
            length, at = read_varint(data, at)
            assert at + length <= len(data), "protobuf field past the end"
            value = data[at : at + length]
            at += length
        else:
            raise AssertionError(f"unexpected wire type {wire}")
        yield number, value


def _message(data):
    result = {}
    for number, value in _fields(data):
        result.setdefault(number, []).append(value)
    return result


def _one(message, number, default=0):
    return message.get(number, [default])[-1]


def _signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def _numbers(values):
    """A repeated integer field, packed or not."""
    result = []
    for value in values:
        if isinstance(value, int):
            result.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = read_varint(value, at)
            result.append(number)
    return result


class Pprof:
    """profile.proto of google/pprof."""

    def __init__(self, data):
        assert data[:2] == b"\x1f\x8b", "not gzipped"
        profile = _message(gzip.decompress(data))
        self._profile = profile
        self.strings = [value.decode() for value in profile.get(6, [])]
        assert self.strings and self.strings[0] == "", "string table does not begin with an empty one"
        self.sample_types = [self._value_type(value) for value in profile.get(1, [])]
        self.default_sample_type = self.strings[_one(profile, 14)]
        self.period_type = self._value_type(_one(profile, 11, b""))
        self.period = _one(profile, 12)
        self.time_nanos = _one(profile, 9)
        self.duration_nanos = _one(profile, 10)
        self.comments = [self.strings[index] for index in _numbers(profile.get(13, []))]
        self.mappings = {}
        for data_ in profile.get(3, []):
            mapping = _message(data_)
            self.mappings[_one(mapping, 1)] = {
                "start": _one(mapping, 2),
                "limit": _one(mapping, 3),
                "offset": _one(mapping, 4),
                "filename": self.strings[_one(mapping, 5)],
                "build_id": self.strings[_one(mapping, 6)],
            }
        self._functions = {}
        for data_ in profile.get(5, []):
            function = _message(data_)
            self._functions[_one(function, 1)] = self.strings[_one(function, 2)]
        self._locations = {}
        for data_ in profile.get(4, []):
            location = _message(data_)
            names = [
                self._functions[_one(_message(line), 1)] for line in location.get(4, [])
            ]  # innermost first
            library = self.mappings.get(_one(location, 2), {}).get("filename", "")
            address = _one(location, 3)
            self._locations[_one(location, 1)] = (names or [f"{address:#x}"], library)

    def _value_type(self, data):
        message = _message(data)
        return f"{self.strings[_one(message, 1)]}/{self.strings[_one(message, 2)]}"

    def stacks(self, weight=None):
        """`weight`: a sample type such as "cpu/nanoseconds"; default: the profile's default."""
        if weight is None:
            weight = next(t for t in self.sample_types if t.split("/")[0] == self.default_sample_type)
        column = self.sample_types.index(weight)
        result = []
        for data in self._profile.get(2, []):
            sample = _message(data)
            values = [_signed(v) for v in _numbers(sample.get(2, []))]
            assert len(values) == len(self.sample_types), "sample with a wrong number of values"
            frames, libraries = [], []
            for location in reversed(_numbers(sample.get(1, []))):
                names, library = self._locations[location]
                frames.extend(reversed(names))
                libraries.extend([library] * len(names))
            stack = Stack("", frames, values[column], libraries)
            stack.values = dict(zip(self.sample_types, values))
            for label_data in sample.get(3, []):
                label = _message(label_data)
                key = self.strings[_one(label, 1)]
                text, number = self.strings[_one(label, 2)], _one(label, 3)
                if key == "thread":
                    stack.thread = text
                elif key == "tid":
                    stack.tid = number
                elif key == "pid":
                    stack.pid = number
                elif key == "state":
                    stack.state = text
                if text:
                    stack.labels[key] = text
            result.append(stack)
        return result


def parse_pprof(data):
    return Pprof(data).stacks()
