"""Fields of /proc/PID/stat."""
import pathlib


def fields(process):
    """From the state on; of a process, by its number, or of a thread, by its folder."""
    folder = process if isinstance(process, pathlib.Path) else pathlib.Path(f"/proc/{process}")
    return (folder / "stat").read_text().rpartition(")")[2].split()


def state(process):
    return fields(process)[0]


def session(process):
    return int(fields(process)[3])


def cpu_ticks(process):
    user, system = fields(process)[11:13]
    return int(user) + int(system)
