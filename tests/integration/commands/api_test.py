"""include/swipr/swipr.h: programs that record themselves."""

import errno
import os
import unittest

from support import ports
from support.case import SwiprCase


class ApiTest(SwiprCase):
    def ask(self, program, command):
        """Result and errno."""
        program.send(command + "\n")
        return tuple(map(int, program.read_line().split()))

    def test_a_program_records_itself(self):
        for variant in ("api_user", "api_user_no_pie"):
            with self.subTest(variant):
                program = self.start_target(variant)
                path = self.folder / f"{variant}.swipr"
                self.assertEqual(self.ask(program, "present"), (1, 0))
                self.assertEqual(self.ask(program, f"start {path}"), (0, 0))
                self.assertEqual(self.ask(program, "work"), (0, 0))
                self.assertEqual(self.ask(program, f"start {path}.2"), (-1, errno.EIO))
                self.assertEqual(self.ask(program, "stop"), (0, 0))
                self.assertEqual(self.ask(program, "stop"), (-1, errno.ENOENT))
                burnt = sum(one.weight for one in self.convert(path, "collapsed", "--weight", "cpu") if "burn_here" in one.frames)
                self.assertGreater(burnt, 50e6)
                self.assertEqual(self.ask(program, f"start {self.folder}/second.swipr"), (0, 0))
                self.assertEqual(self.ask(program, "work"), (0, 0))
                self.assertEqual(program.end().code, 0)
                self.assertIn("burn_here", str(self.convert(self.folder / "second.swipr")))
                (self.folder / "second.swipr").unlink()

    def test_a_program_records_itself_into_an_open_file(self):
        program = self.start_target("api_user")
        path = self.folder / "open.swipr"
        for content, result in ((b"", (0, 0)), (b"something else", (-1, errno.EIO))):
            path.write_bytes(content)
            self.assertEqual(self.ask(program, f"start_to {path}"), result)
            self.assertEqual(self.ask(program, "work"), (0, 0))
            self.assertEqual(self.ask(program, "stop"), (0, 0) if result == (0, 0) else (-1, errno.ENOENT))
            if result == (0, 0):
                self.assertIn("burn_here", str(self.convert(path)))
        self.assertEqual(path.read_bytes(), b"something else")
        os.mkfifo(self.folder / "fifo")
        self.assertEqual(self.ask(program, f"start_to {self.folder}/fifo"), (-1, errno.EIO))
        self.assertEqual(program.end().code, 0)

    def test_a_path_has_to_be_absolute(self):
        program = self.start_target("api_user")
        self.assertEqual(self.ask(program, "start here.swipr"), (-1, errno.EINVAL))
        self.assertEqual(self.ask(program, f"start {self.folder}/nowhere/a.swipr"), (-1, errno.EIO))
        program.end()

    def test_samples_are_written_in_the_format_of_the_name(self):
        program = self.start_target("api_user")
        for suffix, beginning in ((".swipr", b"\x89SWIPR"), (".pb.gz", b"\x1f\x8b"), (".collapsed", b"api_user"), (".perf", b"api_user")):
            path = self.folder / f"samples{suffix}"
            self.assertEqual(self.ask(program, f"samples {path}"), (0, 0))
            self.assertTrue(path.read_bytes().startswith(beginning), path)
        program.end()

    def test_a_child_records_itself(self):
        program = self.start_target("api_user")
        path = self.folder / "child.swipr"
        self.assertEqual(self.ask(program, "fork"), (0, 0))
        self.assertEqual(self.ask(program, f"start {path}"), (0, 0))
        self.assertEqual(self.ask(program, "work"), (0, 0))
        self.assertEqual(self.ask(program, "stop"), (0, 0))
        program.end()
        self.assertIn("burn_here", str(self.convert(path)))

    def test_nothing_happens_without_the_library(self):
        for variant in ("api_user", "api_user_no_pie", "api_user_static"):
            with self.subTest(variant):
                program = self.start_target(variant, preloaded=False)
                self.assertEqual(self.ask(program, "present"), (0, 0))
                for command in (f"start {self.folder}/a.swipr", "stop", f"samples {self.folder}/a"):
                    self.assertEqual(self.ask(program, command), (-1, errno.ENOSYS))
                program.end()
        self.assertEqual(list(self.folder.glob("a*")), [])

    def test_files_are_not_written_for_clients_of_tcp(self):
        holder = ports.reserve_port()
        self.addCleanup(holder.close)
        place = f"127.0.0.1:{ports.port_of(holder)}"
        program = self.start_target("api_user", env={"SWIPR_SERVER_URL": f"http://{place}"})
        self.wait_for_socket(program.pid)
        answer = self.request(place, "POST", "/v1/file", body=f'{{"path":"{self.folder}/a.swipr"}}')
        self.assertEqual(answer.status, 403)
        program.end()

    def test_a_recording_of_cxx_lasts_as_long_as_its_object(self):
        path = self.folder / "cxx.swipr"
        program = self.start(self.target_path("api_user_cxx"), path, preloaded=True)
        self.assertEqual(program.end().code, 0)
        self.swipr("report", path)


if __name__ == "__main__":
    unittest.main()
