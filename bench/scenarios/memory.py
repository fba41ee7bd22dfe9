"""Resident memory of a program while it is recorded for a long time."""
import subprocess
import time

from scenarios.guest import SWIPR, Guest

COLUMNS = ("minute", "above the program before", "bytes recorded")


def table(minutes):
    """Rows by minute."""
    guest = Guest(blocked=63, wakes=20)
    before = guest.resident_kib()
    output = f"{guest.folder.name}/memory.swipr"
    recording = subprocess.Popen(
        [SWIPR, "record", "--pid", str(guest.process.pid), "--rate", "100", "--duration", f"{minutes}min",
         "-o", output], env=guest.environment, stderr=subprocess.DEVNULL)
    start = time.monotonic()
    rows = []
    while recording.poll() is None:
        time.sleep(max(0, start + 60 * (len(rows) + 1) - time.monotonic() - 1))
        with open(output, "rb") as file:
            rows.append((str(len(rows) + 1), f"+{guest.resident_kib() - before} KiB", f"{file.seek(0, 2):,}"))
        if len(rows) == minutes:
            recording.wait()
    guest.end()
    return rows
