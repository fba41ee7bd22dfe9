"""A memory cgroup for the test, of version 1 or 2."""
import os
import pathlib


class MemoryCgroup:
    """`limit` and `usage` are in bytes. Raises OSError where none can be made."""

    def __init__(self, name):
        parent, self.limit_file, self.usage_file = _parent()
        self.folder = parent / f"{name}-{os.getpid()}"
        self.folder.mkdir()
        self.set_limit(1 << 30)

    def set_limit(self, limit):
        (self.folder / self.limit_file).write_text(str(limit))

    def usage(self):
        return int((self.folder / self.usage_file).read_text())

    def command(self, *command):
        """What runs `command` in it from its first instruction."""
        return ("/bin/sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$0" "$@"', *map(str, command))

    def remove(self):
        """When its processes have ended."""
        self.folder.rmdir()


def _lines(path):
    return pathlib.Path(path).read_text().splitlines()


def _parent():
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return _mounted("cgroup", "memory", path), "memory.limit_in_bytes", "memory.usage_in_bytes"
    unified = _mounted("cgroup2", None, "/")
    control = unified / "cgroup.subtree_control"
    if "memory" not in control.read_text().split():
        control.write_text("+memory")
    return unified, "memory.max", "memory.current"


def _mounted(kind, option, path):
    for line in _lines("/proc/self/mountinfo"):
        fields, options = line.split(" - ")
        root, point = fields.split()[3:5]
        if options.split()[0] == kind and (option is None or option in options.split()[2].split(",")):
            inner = path.removeprefix(root.rstrip("/")).lstrip("/")
            return pathlib.Path(point) / inner
    raise FileNotFoundError(f"no {kind} is mounted")
