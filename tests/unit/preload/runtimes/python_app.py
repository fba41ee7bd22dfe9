"""Calls itself in all ways that make different stacks, writes the stacks as Python sees them, and
blocks. python_process_test.cc reads the same stacks from this process's memory.

Lines on standard output, fields separated by tabs:
  thread TID KIND                        the frames of a thread follow, innermost first
  frame NAME FILE FIRST_LINE LINE
  code ADDRESS FIRST_LINE OFFSET:LINE…   the lines of a code object's whole bytecode
  ready                                  all threads are blocked
"""
import asyncio
import dis
import functools
import json
import os
import sys
import threading

written = threading.Lock()
native_id = getattr(threading, "get_native_id",
                    lambda: int(os.readlink("/proc/thread-self").split("/")[-1]))


def tell(*fields):
    with written:
        os.write(1, ("\t".join(map(str, fields)) + "\n").encode("utf-8", "replace"))


def tell_stack(frame, kind):
    lines = ["\t".join(("thread", str(native_id()), kind))]
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        lines.append("\t".join(("frame", name, code.co_filename, str(code.co_firstlineno),
                                str(frame.f_lineno))))
        frame = frame.f_back
    tell("\n".join(lines))


def block(kind):
    # One line: the stack that is written and the stack that blocks are at the same place.
    tell_stack(sys._getframe(), kind), tell("blocked"), os.read(0, 1)


def nested(kind):
    def inner(*arguments):
        if arguments: block(
            kind
        )

    inner(
        1,
        2)


def recursion(kind, depth=300):
    return block(kind) if depth == 0 else recursion(kind, depth - 1)


def generator(kind):
    def numbers():
        yield 1
        block(kind)
        yield 2

    return sum(numbers())


class Shape:
    def __init__(self, kind):
        self.kind = kind
        block(kind)

    @classmethod
    def make(cls, kind):
        return cls(kind)

    @property
    def area(self):
        return block(self.kind)

    def __lt__(self, other):
        block(self.kind)
        return False


def classes(kind):
    for number in range(60):  # so often that the call gets specialised
        Shape.make(kind) if number == 59 else Quiet(number)


class Quiet:
    def __init__(self, kind):
        self.kind = kind
        if kind == "block in a hot constructor":
            block(kind)


def constructor(kind):
    for number in range(100):
        Quiet("block in a hot constructor" if number == 99 else number)


def hook(kind):
    return json.loads('{"a": {"b": [1, 2, {"c": 3}]}}', object_hook=lambda found: block(kind))


def sort(kind):
    first = Shape.__new__(Shape)
    first.kind = kind
    return sorted([first, first])


def key(kind):
    return sorted([3], key=lambda number: max([number], key=functools.partial(keyed, kind)))


def keyed(kind, number):
    block(kind)


def executed(kind):
    exec("def made():\n\n    block(kind)\nmade()", {"block": block, "kind": kind})


def comprehension(kind):
    return [block(kind) for _ in range(1) if not {1: [block for _ in ()]}[1]]


def unicode_names(kind):
    code = compile("def größe():\n    名前()\ndef 名前():\n    block(kind)\ngröße()\n",
                   "/tmp/文件/é😀.py", "exec")
    exec(code, {"block": block, "kind": kind})


def coroutine(kind):
    async def inner():
        await asyncio.sleep(0)
        block(kind)

    async def outer():
        await inner()

    asyncio.run(outer())


def handled(kind):
    try:
        raise ValueError
    except ValueError:
        with threading.Lock():
            try:
                pass
            finally:
                block(kind)


def long_function(kind):
    lines = ["def long(kind, x=0):"]
    lines += ["    x = x + %d" % number for number in range(700)]
    lines += ["    block(kind)"] + ["\n" * 300 + "    x = 1"]
    space = {"block": block}
    exec(compile("\n".join(lines), "long.py", "exec"), space)
    space["long"](kind)


KINDS = (nested, recursion, generator, classes, constructor, hook, sort, key, executed,
         comprehension, unicode_names, coroutine, handled, long_function)


def codes_of(module):
    waiting = [value.__code__ for value in vars(module).values() if hasattr(value, "__code__")]
    for value in vars(module).values():
        if isinstance(value, type):
            waiting += [method.__code__ for method in vars(value).values()
                        if hasattr(method, "__code__")]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if hasattr(constant, "co_code")]


def lines_of(code):
    """(offset, line) of every instruction; line 0: none."""
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                yield offset, line or 0
        return
    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        yield offset, line


def tell_codes():
    kept = []
    for module in (sys.modules[__name__], json.decoder, asyncio.base_events, dis, threading):
        for code in codes_of(module):
            kept.append(code)
            tell("code", id(code), code.co_firstlineno,
                 *("%d:%d" % pair for pair in lines_of(code)))
    return kept


def main():
    kept = tell_codes()
    threads = [threading.Thread(target=kind, args=(kind.__name__,)) for kind in KINDS]
    for thread in threads:
        thread.start()
    block("main")
    os._exit(len(kept) == 0)


main()
