"""The programs of bench/languages/stress, and what stacks of them may look like.

Each of their functions that is called rNUMBER and letters is called by one other, the one with a letter less. Hostile
ones are generated, called and thrown away all the time, NUMBER tells whose they are.
"""
import collections
import functools
import random
import re
import tempfile

from scenarios.guest import ROOT, run
from scenarios.language_programs import OPTIONS, java

FOLDER = ROOT / "bench/languages/stress"
SCRIPTS = {"Python": "stress.py", "Java": "Stress", "JavaScript": "stress.js", "Ruby": "stress.rb", "PHP": "stress.php",
           "Perl": "stress.pl", "R": "stress.R", "Lua": "stress.lua"}
# How a method of Java calls the next one.
JAVA_WAYS = ("{0}()", "Stress.call(this, \"{0}\")", "Stress.handle(this, \"{0}\")", "Stream.of(1).mapToInt(x -> {0}()).sum()",
             "Optional.of(1).map(x -> {0}()).get()", "throwing(() -> {0}())", "locked(this::{0})")
JAVA_HEAD = """
import java.util.*;
import java.util.function.*;
import java.util.stream.*;
public class Made0000 extends Stress.Family {
  public int first() { return r0000(); }
  static int throwing(IntSupplier next) {
    try { throw new Stress.Found(next.getAsInt()); } catch (Stress.Found found) { return found.value(); }
  }
  synchronized int locked(IntSupplier next) { return next.getAsInt(); }
"""
OWN = re.compile(r"\br(\d+)([abc]*)\b")
# Names that have only a file: closures of PHP, functions of Lua that were called without a name, texts of Perl.
FILE = re.compile(r"\.(php|lua|pl)\b")
# A part of a function, which has its name; closures of PHP have the name of their file.
PART = re.compile(r"<locals>|lambda\$| in |\{closure|\(\(eval")
# What names of frames consist of beside words of the program's text.
WORDS = {"__ANON__", "anonymous", "block", "class", "closure", "ensure", "genexpr", "in", "init", "iterator", "lambda", "level",
         "levels", "listcomp", "locals", "lua", "main", "module", "rescue", "stress", "top"}
GONE = "[function gone]"


def java_family(depth):
    """The class Made0000: its ways are drawn, the same in each run."""
    draw = random.Random(14)
    lines = []

    def make(name, below):
        bodies = ["Stress.leaf(300)"] * 3
        if below:
            bodies = [draw.choice(JAVA_WAYS).format(name + letter) for letter in "abc"]
            for letter in "abc":
                make(name + letter, below - 1)
        lines.append(f"  public int {name}() {{ switch (Stress.next()) {{ case 0: return {bodies[0]}; "
                     f"case 1: return {bodies[1]}; default: return {bodies[2]}; }} }}")
    make("r0000", depth)
    return JAVA_HEAD + "\n".join(lines) + "\n}\n"


@functools.cache
def java_classes():
    folder = tempfile.TemporaryDirectory()
    source = f"{folder.name}/Made0000.java"
    with open(source, "w") as file:
        file.write(java_family(3))
    run("javac", "--release", str(java.OLDEST), "-nowarn", "-d", folder.name, FOLDER / "Stress.java", source)
    return folder


def command(language, path, kind):
    if language == "Java":
        return path, "-Xmx256m", "-cp", java_classes().name, SCRIPTS[language], kind
    return path, *OPTIONS.get(language, ()), FOLDER / SCRIPTS[language], kind


@functools.cache
def words_of(language):
    file = FOLDER / (SCRIPTS[language] + (".java" if language == "Java" else ""))
    return WORDS | set(re.findall(r"[A-Za-z_]\w*", file.read_text()))


def own_function(frame):
    """(number, letters, whether it is only a part of the function) of a frame of a family; None: it is none."""
    name, _, file = frame.partition(" (")
    if name == "{closure}":
        name += file.removesuffix(".php)")
    found = not FILE.search(name) and OWN.search(name)
    return (found[1], found[2], PART.search(frame) is not None) if found else None


def is_impossible(language, frame):
    """Of a frame of the program's own file, whether nothing there has such a name; of one of a family, whether its
    name and its file or class disagree."""
    if own_function(frame):
        return len(set(re.findall(r"\b(?:r|Made)(\d+)", frame))) > 1
    name, _, file = frame.partition(" (")
    if not re.match(r"stress\d*\.|Stress\.java", file) or re.match(r"stress\d*\.(php|pl)", name):
        return False
    return not all(OWN.search(word) or word in words_of(language) for word in re.findall(r"[A-Za-z_]\w*", name))


def judge(language, frames):
    """Counts of frames in a stack, root first: those of families, those with a wrong name, those whose caller is
    missing, and those without a name."""
    found = collections.Counter(lost=frames.count(GONE), wrong=sum(is_impossible(language, frame) for frame in frames))
    before, is_excused = None, False
    for frame in frames:
        is_excused |= frame == GONE
        own = own_function(frame)
        if own is None:
            continue
        number, letters, is_part = own
        found["frames"] += 1
        if before is None:
            # The stack of a fiber of Ruby begins with the block that is its function.
            found["skipped"] += not (is_excused or is_part or letters == "")
        elif number != before[0] or not letters.startswith(before[1]) or letters == before[1] and not is_part:
            found["wrong"] += 1
        else:
            found["skipped"] += len(letters) > len(before[1]) + 1 and not is_excused
        before, is_excused = own, False
    return found
