"""Programs that are hostile to a reader of frames, recorded for minutes, and ordinary ones: does the program survive,
and has each function its only caller?"""
import collections
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from scenarios.guest import SWIPR, Program, run
from scenarios.language_programs import UNBLOCKED, parse_collapsed, runtime_in_path, version
from scenarios.stress_programs import SCRIPTS, command, judge

COLUMNS = ("language", "program", "version", "recorded", "stacks walked", "reach the root", "frames", "wrong names",
           "callers missing", "names lost", "ended")
RATE = 1000
CHUNK_SECONDS = 20
ORDINARY_FRAMES = 100_000
AT_ONCE = 2
KINDS = ("hostile", "ordinary")


def count_frames(language, recording):
    """Frames of samples of running threads; of each stack in which a thread waited, once: nobody reads it anew."""
    found = collections.Counter()
    text = run(SWIPR, "convert", recording, "--format", "collapsed", "--weight", "samples", "--state-frames", "on",
               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for frames, weight in parse_collapsed(text):
        is_waiting = re.fullmatch(r"\[.*\]", frames[-1]) and not frames[-1].startswith(("[anon", "[lib", "[function"))
        judged = judge(language, frames)
        if judged["wrong"]:
            print(language, "wrong:", ";".join(frames), file=sys.stderr)
        found.update({name: count * (1 if is_waiting else weight) for name, count in judged.items()})
    return found


def judged(language, recording):
    """What a recording says; those with wrong names are kept."""
    found = count_frames(language, recording)
    if found["wrong"]:
        kept = pathlib.Path(tempfile.mkdtemp(prefix=f"swipr-stress-{language}-")) / recording.name
        shutil.copy(recording, kept)
        print(f"kept: {kept}", file=sys.stderr)
    recording.unlink()
    return found


class Stressed(Program):
    """A program of bench/languages/stress, which takes no commands."""

    def __init__(self, language, path, kind):
        self.language = language
        super().__init__(*command(language, path, kind), blocks=language not in UNBLOCKED)
        self.begun = time.monotonic()

    def chunk(self, number):
        """Totals and the file of a recording; None: the program has ended."""
        try:
            totals = self.record(RATE, CHUNK_SECONDS, "--max-overhead", "100%")
        except (subprocess.CalledProcessError, IndexError):
            if self.process.poll() is None:
                raise
            return None
        recording = pathlib.Path(self.folder.name, "bench.swipr").rename(pathlib.Path(self.folder.name, f"{number}.swipr"))
        return totals, recording

    def finish(self):
        """How it ended: by itself, and with the right results, or not."""
        is_early = self.process.poll() is not None
        lived = time.monotonic() - self.begun
        if self.language == "R" and not is_early:  # which cannot tell that its input has ended
            self.process.stdin.write("end\n")
        self.process.stdin.close()
        said = self.process.stdout.read().split()
        code = self.process.wait()
        self.folder.cleanup()
        if code == 0 and said == ["whole"] and not is_early:
            return "with the right results"
        return f"**exit code {code} after {lived:.0f} s**"


def measure(language, path, kind, seconds):
    """Sums of the chunks, and how the program ended. An ordinary one is recorded until it has shown enough frames."""
    program = Stressed(language, path, kind)
    sums = collections.Counter()
    number = 0
    with concurrent.futures.ThreadPoolExecutor(1) as readers:
        pending = []
        while sums["duration_ns"] < seconds * 1e9 and (kind == "hostile" or sums["frames"] < ORDINARY_FRAMES):
            made = program.chunk(number)
            if made is None:
                break
            totals, recording = made
            sums.update({name: totals[name] for name in ("duration_ns", "stacks_walked", "stacks_rooted")})
            pending.append(readers.submit(judged, language, recording))
            if len(pending) > 1:
                sums.update(pending.pop(0).result())
            number += 1
        for each in pending:
            sums.update(each.result())
    return sums, program.finish()


def row(language, kind, seconds):
    path = runtime_in_path(language)
    sums, end = measure(language, path, kind, seconds)
    frames = sums["frames"] + sums["lost"]
    cells = (language, kind, version(path), f"{sums['duration_ns'] / 1e9:.0f} s", f"{sums['stacks_walked']:,}",
             f"{100 * sums['stacks_rooted'] / max(1, sums['stacks_walked']):.2f} %", f"{sums['frames']:,}",
             f"{sums['wrong']:,}", f"{100 * sums['skipped'] / max(1, frames):.2f} %",
             f"{100 * sums['lost'] / max(1, frames):.2f} %", end)
    print(" | ".join(cells), file=sys.stderr, flush=True)
    return cells


def table(seconds):
    """Two programs at a time."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as workers:
        return list(workers.map(lambda case: row(*case, seconds), [(language, kind) for kind in KINDS for language in SCRIPTS]))
