"""swipr doctor reports what is missing, with remedies."""

import glob
import os
import re
import shutil
import signal
import unittest

from support import deadline
from support.case import SwiprCase
from support.interpreters import interpreters


class DoctorTest(SwiprCase):
    def findings(self, *arguments, code=0, **options):
        """{subject: (verdict, text and remedy)}"""
        out = self.swipr("doctor", *arguments, expect=code, **options).out.decode()
        found, subject = {}, None
        for line in out.splitlines():
            if line.lstrip().startswith("→"):
                found[subject] = (found[subject][0], found[subject][1] + " " + line.strip())
            else:
                subject = line[6:22].strip()
                found[subject] = (line[:4].strip(), line[23:])
        return found

    def test_machine(self):
        found = self.findings()
        self.assertNotIn("FAIL", [verdict for verdict, _ in found.values()], found)
        self.assertEqual(found["preload"], ("ok", str(self.preload)))
        self.assertRegex(found["trial"][1], r"recorded: \d+ samples?, \d+ with a complete stack")

    def test_path_of_the_preload(self):
        self.assertEqual(self.swipr("preload-path").out.decode(), f"{self.preload}\n")

    def test_path_of_a_preload_that_is_not_there(self):
        alone = self.folder / "alone" / "bin"
        alone.mkdir(parents=True)
        program = shutil.copy(self.program, alone)
        finished = self.start(program, "preload-path").end()
        self.assert_one_line_error(finished, "not installed beside", codes=(1,))

    def test_preload_that_would_end_every_program(self):
        folder = self.folder / "damaged"
        folder.mkdir()
        program = shutil.copy(self.program, folder)
        image = self.preload.read_bytes()
        foreign = image[:18] + b"\x16\x00" + image[20:]  # e_machine of s390x
        for damaged, reason in ((image[:100_000], "is damaged"), (b"", "is damaged"), (foreign, "another architecture")):
            (folder / self.preload.name).write_bytes(damaged)
            finished = self.start(program, "record", "--", "true").end()
            self.assert_one_line_error(finished, reason, codes=(1,))

    def test_no_place_for_temporary_files(self):
        found = self.findings(code=1, env={"TMPDIR": "/nowhere"})
        self.assertEqual(found["trial"][0], "FAIL")
        self.assertIn("cannot create a folder in /nowhere: No such file or directory", found["trial"][1])

    def test_sockets_of_ended_processes_take_one_line(self):
        for _ in range(3):
            target = self.start_target("killer_nofp")
            target.send("kill\n")
            target.wait()
        said = [line for line in self.swipr("list").err.splitlines() if "removed" in line]
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"removed \d+ sockets of ended processes")

    def test_socket_folder_that_others_can_change(self):
        self.sockets.chmod(0o777)
        verdict, text = self.findings()["socket folder"]
        self.assertEqual((verdict, text), ("ok", f"{self.sockets}/{os.geteuid()}"))

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_socket_folder_of_others(self):
        os.chown(self.sockets, 65534, 65534)
        verdict, text = self.findings(code=1)["socket folder"]
        self.assertEqual(verdict, "FAIL")
        self.assertIn("belongs to nobody", text)

    def test_language_runtime(self):
        for path in interpreters():
            with self.subTest(interpreter=path):
                program = self.start(path, "-c", "import sys; print('ready', flush=True); sys.stdin.read()", preloaded=True)
                program.wait_ready()
                self.wait_for_socket(program.pid)
                version = re.search(r"[\d.]+$", os.path.realpath(path))[0]
                verdict, text = self.findings("--pid", program.pid)["runtime"]
                self.assertEqual(verdict, "ok")
                self.assertRegex(text, rf"^python {version}(\.\d+)?: frames are read$")

    def test_language_runtime_of_an_old_version(self):
        path = next(iter(glob.glob(os.path.expanduser("~/.pyenv/versions/3.7.*/bin/python3.7"))), None)
        if path is None:
            self.skipTest("no CPython 3.7 on this machine")
        program = self.start(path, "-c", "import sys; print('ready', flush=True); sys.stdin.read()", preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        verdict, text = self.findings("--pid", program.pid)["runtime"]
        self.assertEqual((verdict, text), ("note", "python: frames are not read (unsupported version; 3.8 to 3.15 are)"))

    def test_runtimes_that_nobody_reads(self):
        wait = "console.log('ready'); process.stdin.resume()"
        known = {
            "pypy3": ("python PyPy", "CPython", "-c", "import sys; print('ready', flush=True); sys.stdin.read()"),
            "erl": ("erlang BEAM", r"\+JPperf true", "-noshell", "-eval", 'io:format("ready~n"), io:get_line(""), halt().'),
            "deno": ("javascript Deno", "--perf-basic-prof", "eval", wait),
            "bun": ("javascript Bun", "BUN_JSC_useJITDump=1", "-e", wait),
        }
        present = {name: shutil.which(name) for name in known if shutil.which(name)}
        if not present:
            self.skipTest(f"none of {', '.join(known)} on this machine")
        for name, path in present.items():
            with self.subTest(runtime=name):
                what, help_text, *arguments = known[name]
                program = self.start(path, *arguments, preloaded=True)
                program.wait_ready()
                self.wait_for_socket(program.pid)
                verdict, text = self.findings("--pid", program.pid)["runtime"]
                self.assertEqual(verdict, "note")
                self.assertRegex(text, rf"^{what}: frames are not read \(.*{help_text}.*\)$")

    def test_recordable_process(self):
        target = self.start_target("waiter_nofp")
        found = self.findings("--pid", target.pid)
        self.assertEqual({verdict for verdict, _ in found.values()} - {"note"}, {"ok"}, found)
        self.assertIn("answers", found["socket"][1])

    def test_process_without_the_preload(self):
        target = self.start_target("waiter_nofp", preloaded=False)
        verdict, text = self.findings("--pid", target.pid, code=1)["preload"]
        self.assertEqual(verdict, "FAIL")
        self.assertIn(f"LD_PRELOAD={self.preload} CMD", text)

    def test_sleeping_preload(self):
        target = self.start_target("waiter_nofp", env={"SWIPR_DISABLE": "1"})
        verdict, text = self.findings("--pid", target.pid, code=1)["environment"]
        self.assertEqual(verdict, "FAIL")
        self.assertIn("SWIPR_DISABLE", text)

    def test_stopped_process(self):
        target = self.start_target("waiter_nofp")
        target.signal(signal.SIGSTOP)
        self.addCleanup(target.signal, signal.SIGCONT)
        deadline.wait_until(lambda: self.state_of(target.pid) == "T", "the process to stop")
        verdict, text = self.findings("--pid", target.pid, code=1)["state"]
        self.assertEqual(verdict, "FAIL")
        self.assertIn(f"kill -CONT {target.pid}", text)

    def state_of(self, pid):
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0]

    def test_no_such_process(self):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(self.findings("--pid", child, code=1)["process"][0], "FAIL")


if __name__ == "__main__":
    unittest.main()
