"""Keeps a thread from its CPU, as a busy machine does."""

import contextlib
import ctypes
import os
import pathlib
import time

SEIZE, INTERRUPT, CONTINUE, DETACH = 0x4206, 0x4207, 7, 17  # <linux/ptrace.h>
WALL = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long] * 4


def _trace(request, tid):
    if _libc.ptrace(request, tid, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace request {request:#x}, thread {tid}")


def find_thread(pid, name):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return int(task.name)
    raise LookupError(f"process {pid} has no thread {name}")


@contextlib.contextmanager
def stalling(tid):
    """Gives a function that stops the thread for some seconds, wherever it is."""

    def stop():
        _trace(INTERRUPT, tid)
        os.waitpid(tid, WALL)

    def stall(seconds):
        stop()
        time.sleep(seconds)
        _trace(CONTINUE, tid)

    _trace(SEIZE, tid)
    try:
        yield stall
    finally:
        stop()
        _trace(DETACH, tid)
