"""What recordings of each version of each language say of a program whose truth is known."""
import pathlib
import re
import subprocess

from scenarios.guest import SWIPR, Program, run
from scenarios.language_programs import (SCRIPTS, Shares, command, deviation, named_by_map, parse_collapsed, runtimes,
                                         shares_of, truth, version)

COLUMNS = ("language", "version", "samples", "largest deviation of a share", "stacks that reach the root",
           "CPU time in the program's functions", "of this with all callers", "names lost", "interpreter loops left",
           "signals to blocked threads", "also")
LOOPS = {"Python": "_PyEval_EvalFrameDefault", "PHP": "execute_ex", "Perl": "Perl_runops_standard", "R": "bcEval"}
OWN = re.compile(r"\b(spin|chain|burn|seventy|twenty|ten|work)$")


def collapsed(output, *options):
    return parse_collapsed(run(SWIPR, "convert", output, "--format", "collapsed", *options, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL).stdout)


def per_cent(stacks, holds):
    whole = sum(weight for _, weight in stacks)
    return 100 * sum(weight for frames, weight in stacks if holds(frames)) / whole if whole else 0


def names_of(frames):
    return [re.split(r"[ (]", frame)[0] for frame in frames]


def is_own(frames):
    return any(OWN.search(name) for name in names_of(frames))


def is_whole(frames):
    """Its functions stand in the order of their calls: work, one of the three, burn, nine times chain, spin."""
    own = [OWN.search(name)[1] for name in names_of(frames) if OWN.search(name)]
    calls = re.sub(r"seventy|twenty|ten", "one", " ".join(own))
    return re.fullmatch(r"work( one( burn( chain){0,8}|( burn( chain){9}( spin)?))?)?", calls) is not None


def gil_waits(path):
    """Of the time in which a thread that only computes is blocked, the per cent that waits for the GIL."""
    program = Program(*command("Python", path, "gil.py"))
    output = pathlib.Path(program.folder.name) / "bench.swipr"
    program.record(500, 3)
    stacks = [(frames, weight) for frames, weight in
              collapsed(output, "--weight", "blocked", "--state-frames", "on", "--state", "blocked")
              if any(frame.startswith("spin (") for frame in frames)]
    program.end()
    return f"{per_cent(stacks, lambda frames: frames[-1] == '[GIL]'):.1f} % of the waits for the GIL have its name"


def map_names(path):
    program = Shares("JavaScript", path, "--perf-basic-prof")
    output = pathlib.Path(program.folder.name) / "bench.swipr"
    program.record(500, 3)
    known = named_by_map(program.process.pid, collapsed(output))
    program.end()
    for left in (*pathlib.Path().glob(f"isolate-*-{program.process.pid}-v8.log"),
                 pathlib.Path(f"/tmp/perf-{program.process.pid}.map")):
        left.unlink(missing_ok=True)
    return f"{known:.1f} % of the names are those of --perf-basic-prof"


ALSO = {"Python": gil_waits, "JavaScript": map_names}


def row(language, path, seconds):
    program = Shares(language, path)
    before = program.mark()
    totals = program.record(500, seconds)
    expected = truth(before, program.mark())
    output = pathlib.Path(program.folder.name) / "bench.swipr"
    stacks = collapsed(output, "--weight", "cpu")
    samples = sum(weight for frames, weight in collapsed(output, "--state", "running") if is_own(frames))
    program.end()
    own = [entry for entry in stacks if is_own(entry[0])]
    loop = LOOPS.get(language)
    return (language, version(path), f"{samples:,}",
            f"{deviation(shares_of(stacks), expected):.1f} points",
            f"{100 * totals['stacks_rooted'] / totals['stacks_walked']:.2f} %",
            f"{per_cent(stacks, is_own):.2f} %", f"{per_cent(own, is_whole):.2f} %",
            f"{per_cent(stacks, lambda frames: '[function gone]' in frames):.2f} %",
            f"{per_cent(stacks, lambda frames: loop in frames[:-1]):.2f} %" if loop else "",
            str(totals["signals_to_blocked"]), ALSO[language](path) if language in ALSO else "")


def table(seconds):
    return [row(language, path, seconds) for language in SCRIPTS for path in runtimes(language)]
