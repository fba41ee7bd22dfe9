"""What tests of all languages do with programs whose truth is known."""

import os
import shutil

from support import profiles, raw, root
from support.case import SwiprCase


def programs(name, variable):
    """Paths of the program of that name on this machine and of those that the variable has (separated by colons); or
    that of the root in SWIPR_TEST_ROOT, as it is called inside it."""
    if root.current():
        return [f"/usr/bin/{name}"]
    found = [shutil.which(name), *os.environ.get(variable, "").split(":")]
    return list(dict.fromkeys(os.path.realpath(path) for path in found if path))


class LanguageCase(SwiprCase):
    def source(self, text, name):
        """A file of that name, with its suffix."""
        source = self.folder / name
        source.write_text(text)
        return source

    def run_program(self, *command, **started):
        program = self.start(*command, preloaded=True, **started)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        return program

    def finish(self, program):
        """Closes its input, at which it ends. Its last output."""
        finished = program.end()
        self.assertEqual(finished.code, 0, finished)
        return finished.out.decode()

    def check_lost(self, stacks, most):
        lost = sum(s.weight for s in stacks if any(name.startswith("[function gone]") for name in s.frames))
        self.assertLessEqual(lost, most * profiles.total(stacks))

    def check_rooted(self, recording):
        (source,) = raw.read(recording.read_bytes()).values()
        self.assertGreater(source.totals["stacks_rooted"], 0.99 * source.totals["stacks_walked"])
