"""Functions whose names can be checked: each one called rNUMBER and letters is called by the one with a letter less.
usage: stress.py ordinary|hostile. Ends with its input; with code 0 if all calls returned what they should."""
import asyncio
import functools
import gc
import itertools
import os
import random
import sys
import threading

RESULT = 300
# How a function calls the next one, which is the only one that it calls.
WAYS = ("{0}()", "list(map(lambda x: {0}(), [1]))[0]", "functools.reduce(lambda x, y: {0}(), [1, 2])",
        "next({0}() for x in [1])", "[{0}() for x in [1]][0]", "through_exception({0})", "through_finalizer({0})",
        "through_generator({0})", "through_coroutine({0})", "sorted([1], key=lambda x: kept.append({0}()) or 0) and kept.pop()")
numbers = itertools.count()
ended = False


class Found(Exception):
    pass


class Finalized:
    def __init__(self, function):
        self.function = function

    def __del__(self):
        self.function.__globals__["kept"].append(self.function())


def leaf(count):
    value = 0
    for _ in range(count):
        value += 1
    return value


def through_exception(function):
    try:
        raise Found(function())
    except Found as found:
        return found.args[0]


def through_finalizer(function):
    kept = function.__globals__["kept"]
    Finalized(function)
    return kept.pop()


def through_generator(function):
    def generate():
        yield 1
        yield function()
    return sum(generate()) - 1


def through_coroutine(function):
    async def run():
        return function()
    try:
        run().send(None)
    except StopIteration as stop:
        return stop.value


def text_of(base, depth):
    """The function `base` and those below it."""
    texts = []

    def make(name, below):
        bodies = ["leaf(300)"] * 3
        if below:
            bodies = [random.choice(WAYS).format(name + letter) for letter in "abc"]
            for letter in "abc":
                make(name + letter, below - 1)
        texts.append(f"def {name}():\n    way = random.randrange(3)\n"
                     + "".join(f"    if way == {number}: return {body}\n" for number, body in enumerate(bodies)))
    make(base, depth)
    return "\n".join(texts)


def made(depth):
    """A new family of functions: its first one, and what it lives in."""
    base = f"r{next(numbers) % 100000}"
    space = {"kept": [], "functools": functools, "leaf": leaf, "random": random, "through_exception": through_exception,
             "through_finalizer": through_finalizer, "through_generator": through_generator,
             "through_coroutine": through_coroutine}
    exec(compile(text_of(base, depth), f"<{base}>", "exec"), space)
    return space[base], space


def check(result):
    if result != RESULT:
        print("wrong result", result, file=sys.stderr, flush=True)
        os._exit(3)


def ordinary():
    first, _ = made(4)
    while not ended:
        check(first())


def deep(depth):
    return 0 if depth == 0 else 1 + deep(depth - 1)


def unwound(depth):
    try:
        if depth == 0:
            raise Found(depth)
        unwound(depth - 1)
    finally:
        random.random()


def storm():
    while not ended:
        first, space = made(2)
        for _ in range(random.randrange(100)):
            check(first())
        if random.random() < 0.5:
            space.clear()
        deep(random.randrange(300))
        try:
            unwound(20)
        except Found:
            pass
        circle = [[] for _ in range(500)]
        circle.append(circle)
        if random.random() < 0.1:
            gc.collect(random.randrange(3))


def one_family():
    first, _ = made(1)
    for _ in range(5):
        check(first())


def threads_come_and_go():
    while not ended:
        several = [threading.Thread(target=one_family) for _ in range(8)]
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()


async def awaited(depth):
    await asyncio.sleep(0)
    if depth:
        return await awaited(depth - 1)
    one_family()


async def events():
    while not ended:
        await asyncio.gather(*(awaited(10) for _ in range(5)))


def event_loop():
    asyncio.run(events())


def interpreters():
    """Subinterpreters that come and go; of versions in which threads may have them."""
    if sys.version_info < (3, 9):
        return
    module = __import__("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    run = getattr(module, "run_string", None) or module.exec
    while not ended:
        base = f"r{next(numbers) % 100000}"
        text = "import functools, random\nkept = []\ndef leaf(count):\n    return sum(1 for _ in range(count))\n"
        for name, calls in ((base + "ab", "leaf(300)"), (base + "a", f"next({base}ab() for x in [1])"), (base, f"{base}a()")):
            text += f"def {name}(): return {calls}\n"
        interpreter = module.create()
        run(interpreter, f"{text}\nfor _ in range(100): assert {base}() == {RESULT}")
        module.destroy(interpreter)


HOSTILE = (storm, storm, threads_come_and_go, event_loop, interpreters)
threads = [threading.Thread(target=target) for target in (HOSTILE if sys.argv[1] == "hostile" else (ordinary, ordinary))]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.read()
ended = True
for thread in threads:
    thread.join()
print("whole", flush=True)
