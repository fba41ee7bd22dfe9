"""The promise that the program cannot tell: the same program without swipr, with swipr at rest, and
recorded from its first instruction at 1 kHz says the same and ends the same way."""

import subprocess

from support.case import SwiprCase

RATE = 1000


class GuestCase(SwiprCase):
    def run_plain(self, name, *arguments, **options):
        return self.start(self.target_path(name), *arguments, stdin=subprocess.DEVNULL, **options).wait()

    def run_recorded(self, name, *arguments, **options):
        """(how the program ended, the recording). swipr passes its output and its exit code on."""
        self._count += 1
        path = self.folder / f"guest-{self._count}.swipr"
        if self.root:  # where swipr does not run
            recording = {"SWIPR_RECORD": str(path), "SWIPR_RECORD_INTERVAL": f"{1000 // RATE}ms"}
            options["env"] = {**(options.get("env") or {}), **recording}
            finished = self.run_plain(name, *arguments, preloaded=True, **options)
            if finished.code < 0:
                finished.code = 128 - finished.code  # as swipr passes it on
            return finished, path
        finished = self.start_swipr(
            "record", "--rate", RATE, "-o", path, "--", self.target_path(name), *arguments,
            stdin=subprocess.DEVNULL, **options,
        ).wait()
        return finished, path

    def check_same(self, name, *arguments, new_folder=False):
        """The lines that it said."""
        def options(kind):
            if not new_folder:
                return {}
            folder = self.folder / "-".join((kind, *arguments))
            folder.mkdir()
            return {"cwd": folder}

        plain = self.run_plain(name, *arguments, **options("plain"))
        idle = self.run_plain(name, *arguments, preloaded=True, **options("idle"))
        recorded, path = self.run_recorded(name, *arguments, **options("recorded"))
        expected = (plain.code, plain.out.decode().splitlines())
        self.assertEqual((idle.code, idle.out.decode().splitlines()), expected, f"at rest: {idle.err}")
        self.assertEqual((recorded.code, recorded.out.decode().splitlines()), expected, f"recorded: {recorded.err}")
        self.assertEqual(idle.err, plain.err)
        self.assertTrue(path.stat().st_size > 0)
        self.assertEqual(list(self.sockets.rglob("*.sock")), [], "sockets are removed")
        return expected[1]
