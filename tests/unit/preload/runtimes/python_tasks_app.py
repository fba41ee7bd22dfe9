"""Makes tasks of asyncio that wait in all ways, writes what each awaits as Python sees it, and
blocks the event loop. The lines are those of python_app.py; the kind is the task's name.
"""
import asyncio
import os
import types


class Awaitable:
    def __init__(self, coroutine):
        self.coroutine = coroutine

    def __await__(self):
        return self.coroutine.__await__()


async def leaf():
    await asyncio.sleep(1000)


async def nested(depth):
    if depth == 0:
        return await leaf()
    await nested(
        depth - 1)


async def gather():
    await asyncio.gather(leaf(),
                         leaf())


generators = []


async def numbers():
    yield 1
    await leaf()


async def generator():
    generators.append(numbers())
    async for number in generators[0]:
        pass


wrapped = []


async def wrapper():
    wrapped.append(leaf())
    await Awaitable(wrapped[0])


sleeps = []


@types.coroutine
def from_generator():
    sleeps.append(asyncio.sleep(1000))
    yield from sleeps[0].__await__()


async def old():
    await from_generator()


async def other(task):
    await task


async def locked(lock):
    async with lock:
        pass


async def ends():
    pass


def frames(awaited, hidden):
    """Outermost first. `hidden`: what Python's objects do not tell, the next object in each case."""
    found = []
    hidden = list(hidden)
    while awaited is not None:
        for prefix in "cr", "gi", "ag":
            frame = getattr(awaited, prefix + "_frame", None)
            if frame is None:
                continue
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)
            line = frame.f_lineno
            found.append(("frame", name, code.co_filename, str(code.co_firstlineno), str(line)))
            awaited = getattr(awaited, {"cr": "cr_await", "gi": "gi_yieldfrom",
                                        "ag": "ag_await"}[prefix])
            break
        else:
            awaited = hidden.pop(0) if hidden else None
    return found


def tell(name, coroutine, hidden=(), most=128):
    lines = [("thread", str(os.getpid()), name)] + frames(coroutine, hidden)[:most][::-1]
    os.write(1, "".join("\t".join(line) + "\n" for line in lines).encode())


def start(coroutine, name):
    task = asyncio.get_event_loop().create_task(coroutine)
    if name:
        task.set_name(name)
    return task


async def main():
    lock = asyncio.Lock()
    await lock.acquire()
    waiting = {name: (start(coroutine, name), coroutine) for name, coroutine in (
        ("one", leaf()), ("nested", nested(4)), ("deep", nested(200)), ("gather", gather()),
        ("generator", generator()), ("wrapper", wrapper()), ("old", old()), ("größe", leaf()),
        ("lock", locked(lock)))}
    waiting["other"] = (start(other(waiting["one"][0]), "other"), None)
    start(ends(), "ended")
    cancelled = start(leaf(), "cancelled")
    start(leaf(), None)
    await asyncio.sleep(0.01)
    cancelled.cancel()
    await asyncio.sleep(0.01)
    late = leaf()
    start(late, "late")
    hidden = {"generator": generators, "wrapper": wrapped, "old": sleeps}
    for name, (task, coroutine) in waiting.items():
        tell(name, coroutine or task.get_coro(), hidden.get(name, ()))
    tell("late", late)
    os.write(1, b"blocked\n"), os.read(0, 1)


asyncio.run(main())
