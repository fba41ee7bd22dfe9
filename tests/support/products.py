"""Where the build products are. ctest sets the variables; by hand, set them to a build folder's."""

import os
import pathlib
import platform
import re
import subprocess


IS_X86_64 = platform.machine() == "x86_64"
# Calls that newer architectures lack, and what their C library uses instead.
POLL, EPOLL_WAIT = ("poll", "epoll_wait") if IS_X86_64 else ("ppoll", "epoll_pwait")
# The function in glibc's code with which stacks of threads begin.
THREAD_ROOT = "(?:__)?clone3?" if IS_X86_64 else "thread_start"


def _product(variable):
    value = os.environ.get(variable)
    if not value:
        raise RuntimeError(f"{variable} is not set: run the tests through ctest")
    path = pathlib.Path(value)
    if not path.exists():
        raise RuntimeError(f"{variable}: {path} does not exist: build it first")
    return path.resolve()


def swipr():
    return _product("SWIPR")


def preload():
    return _product("SWIPR_PRELOAD")


def target(name):
    """A program or library of tests/targets, such as "shares_fp"."""
    path = _product("SWIPR_TARGETS") / name
    if not path.exists():
        raise RuntimeError(f"no target program {path}")
    return path


def example(name):
    """A program of examples, such as "demo"."""
    return _product("SWIPR").parents[1] / "examples" / f"example_{name}"


def has_target(name):
    return (_product("SWIPR_TARGETS") / name).exists()


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    return re.search("Build ID: ([0-9a-f]+)", notes).group(1)
