"""Invalid input causes a message of one line and exit code 1 or 2; no file is lost or partially written."""

import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import unittest

from support import deadline
from support.case import SwiprCase


class UsageTest(SwiprCase):
    def refused(self, *arguments, words=(), codes=(2,)):
        before = set(self.folder.rglob("*.swipr"))
        finished = self.swipr(*arguments, expect=None)
        self.assert_one_line_error(finished, *words, codes=codes)
        self.assertEqual(finished.out, b"")
        self.assertEqual(set(self.folder.rglob("*.swipr")), before, "a file was written")

    def test_wrong_usage(self):
        for arguments, words in (
            ((), ()),
            (("frobnicate",), ("frobnicate",)),
            (("record",), ("--pid", "--name")),
            (("record", "--pid", "1", "--name", "x"), ()),
            (("record", "--pid", "x"), ("process id",)),
            (("record", "--pid", "-4"), ("process id",)),
            (("record", "--pid", "0"), ("process id",)),
            (("record", "--pid", "99999999999999999999"), ("process id",)),
            (("record", "--pid", "1", "--frobnicate"), ("frobnicate",)),
            (("record", "--pid", "1", "--count", "0"), ("count",)),
            (("record", "--pid", "1", "--count", "-1"), ("count",)),
            (("record", "--pid", "1", "--count", "many"), ("count",)),
            (("record", "--pid", "1", "--count", "99999999999999999999999"), ("count",)),
            (("record", "--pid", "1", "--interval", "0"), ("interval",)),
            (("record", "--pid", "1", "--interval", "-1ms"), ("interval",)),
            (("record", "--pid", "1", "--interval", "soon"), ("interval",)),
            (("record", "--pid", "1", "--interval", "1ns"), ("interval",)),
            (("record", "--pid", "1", "--interval", "10fortnights"), ("interval",)),
            (("record", "--pid", "1", "--rate", "0"), ("rate",)),
            (("record", "--pid", "1", "--rate", "1000000000"), ("rate",)),
            (("record", "--pid", "1", "--duration", "0s"), ("duration",)),
            (("record", "--pid", "1", "--duration", "long"), ("duration",)),
            (("record", "--pid", "1", "--format", "jpeg"), ("format", "jpeg")),
            (("record", "--"), ("command",)),
            (("convert", "--format", "jpeg"), ("format", "jpeg")),
            (("convert", "--format", "raw"), ("format",)),
            (("convert", "--format", "perf", "--weight", "gold"), ("weight", "gold")),
            (("convert",), ("format",)),
        ):
            with self.subTest(arguments=arguments):
                self.refused(*arguments, words=words)


class RecordTest(SwiprCase):
    def refused(self, *arguments, words=(), codes=(1,)):
        output = self.folder / "refused.swipr"
        finished = self.swipr("record", "-o", output, *arguments, expect=None)
        self.assert_one_line_error(finished, *words, codes=codes)
        self.assertFalse(output.exists(), "a file was written")

    def test_no_such_pid(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.refused("--pid", child.pid, words=(str(child.pid), "no process"))

    def test_pid_without_the_preload(self):
        plain = self.start_target("blocked_nofp", preloaded=False)
        self.refused("--pid", plain.pid, words=(str(plain.pid), "ld_preload=.*libswipr_preload.so"))

    def test_preload_that_nothing_loaded(self):
        program = self.target_path("burn_static")
        running = self.start(program, 100_000, preloaded=True)
        deadline.wait_until(lambda: os.readlink(f"/proc/{running.pid}/exe") == str(program), "the program")
        self.refused("--pid", running.pid, words=(str(running.pid), "the library was not loaded: .*statically linked"))
        running.signal(signal.SIGKILL)

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files capabilities")
    def test_program_with_file_capabilities(self):
        self.folder.chmod(0o755)
        stage = self.folder / "stage"
        stage.mkdir()
        program, burn = (shutil.copy(path, stage) for path in (self.program, self.target_path("burn_nofp")))
        # cap_net_raw, permitted and effective: VFS_CAP_REVISION_2 of linux/capability.h.
        attribute = struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)
        try:
            os.setxattr(burn, "security.capability", attribute)
        except OSError as error:
            self.skipTest(f"no file capabilities here: {error}")
        script = 'exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" record -o /dev/null -- "$1" 10'
        finished = self.start("sh", "-c", script, program, burn).end()
        self.assert_one_line_error(finished, "file capabilities", "ld_preload", codes=(1,))
        self.assertEqual(finished.out, b"")
        script = ('"$1" 100000 & while [ "$(cat /proc/$!/comm)" = sh ]; do :; done; '
                  '"$0" record -o /dev/null --pid $!; code=$?; kill $!; exit $code')
        as_nobody = ("setpriv", "--reuid", 65534, "--regid", 65534, "--clear-groups")
        finished = self.start(*as_nobody, "sh", "-c", script, program, burn).end()
        self.assert_one_line_error(finished, "file capabilities", "permission denied", "root", codes=(1,))

    def test_no_process_of_that_name(self):
        self.refused("--name", "nosuchname", words=("nosuchname",))

    def test_dead_socket_of_a_process_that_was(self):
        target = self.start_target("killer_nofp")
        target.send("kill\n")
        target.wait()
        self.refused("--pid", target.pid, words=(str(target.pid),))

    def test_something_else_behind_the_socket(self):
        plain = self.start_target("blocked_nofp", preloaded=False)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.socket_of(plain.pid)))
            listener.listen()
            listener.settimeout(30)
            running = self.start_swipr("record", "--pid", plain.pid, "-o", self.folder / "x.swipr")
            try:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1)
                    connection.sendall(b"220 mail.example.org ESMTP\r\n")
            except (TimeoutError, BrokenPipeError):
                pass  # swipr may see whose socket it is before it speaks
            finished = running.end()
        self.assert_one_line_error(finished, codes=(1,))

    def test_static_program(self):
        self.refused("--", self.target_path("burn_static"), 10, words=("static", "preload"))

    def test_32_bit_program(self):
        program = self.folder / "program32"
        # ELFCLASS32, little endian, version 1; ET_EXEC, EM_386.
        header = b"\x7fELF\x01\x01\x01" + bytes(9)
        header += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 0, 0, 0, 52, 32, 0, 40, 0, 0)
        program.write_bytes(header + bytes(256))
        program.chmod(0o755)
        self.refused("--", program, words=("32.bit|word size", "preload"))

    @unittest.skipUnless(os.geteuid() == 0, "only root makes programs setuid for another user")
    def test_setuid_program(self):
        program = self.folder / "setuid"
        shutil.copy(self.target_path("burn_nofp"), program)
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        self.refused("--", program, 10, words=("setuid", "preload"))

    def test_output_that_cannot_be_written_is_noticed_before_recording(self):
        marker = self.folder / "the-command-ran"
        for output in (
            self.folder / "no" / "such" / "folder" / "x.swipr",
            "/proc/version/x.swipr",
            "/proc/no-new-files-here.swipr",
            self.folder,
        ):
            with self.subTest(output=output):
                finished = self.swipr("record", "-o", output, "--", "touch", marker, expect=None)
                self.assert_one_line_error(finished, re.escape(str(output).lower()), codes=(1,))
                self.assertFalse(marker.exists(), "the command ran")

    def test_full_disk(self):
        target = self.start_target("shares_nofp")
        for fmt in ("raw", "perf", "pprof", "collapsed"):
            with self.subTest(format=fmt):
                finished = self.swipr(
                    "record", "--pid", target.pid, "--count", 20, "--interval", "1ms", "--format", fmt,
                    "-o", "/dev/full", expect=None,
                )
                self.assert_one_line_error(finished, "/dev/full", "no space", codes=(1,))

    def test_reader_that_goes_away(self):
        target = self.start_target("shares_nofp")
        read_end, write_end = os.pipe()
        os.close(read_end)
        try:
            running = self.start_swipr("record", "--pid", target.pid, "--interval", "1ms", "-o", "-", stdout=write_end)
        finally:
            os.close(write_end)
        running.process.wait(timeout=60)
        self.assertNotEqual(running.process.returncode, -signal.SIGSEGV)
        self.assertNotEqual(running.process.returncode, 0)
        self.assertLessEqual(len(running.err().splitlines()), 1)
        self.assertEqual(target.end().code, 0)

    def test_another_process_behind_the_socket(self):
        impostor = self.start_target("blocked_nofp")
        plain = self.start_target("blocked_nofp", preloaded=False)
        os.link(self.socket_of(impostor.pid), self.socket_of(plain.pid))
        self.refused("--pid", plain.pid, words=(str(plain.pid), "not started with the preload"))
        self.socket_of(plain.pid).unlink()

    @unittest.skipUnless(os.geteuid() == 0, "needs a socket of another user")
    def test_rendezvous_of_another_user(self):
        log = self.folder / "log"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(self.folder / "rendezvous"))
            os.seteuid(65534)
            try:
                listening.listen()
            finally:
                os.seteuid(0)
            target = self.start_target("blocked_nofp", env={"SWIPR_RENDEZVOUS": str(self.folder / "rendezvous"), "SWIPR_LOG": str(log)})
            self.assertIn("its socket is owned by another user", log.read_text())
            listening.accept()[0].close()
            self.record(target.pid, "--count", 5, "--interval", "1ms")
            self.assertEqual(target.end().code, 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs a socket of another user")
    def test_socket_of_another_user(self):
        # Root may use the socket of a process of nobody; nobody may not use that of root.
        target = self.start_target("blocked_nofp")
        self.folder.chmod(0o755)
        for path in (self.sockets, self.socket_of(target.pid)):
            path.chmod(0o777)
        stage = self.folder / "stage"
        stage.mkdir()
        program = shutil.copy(self.program, stage)
        confined = shutil.copy(self.target_path("confined"), stage)
        running = self.start(confined, program, "record", "--pid", target.pid, "-o", "-", "--count", 1)
        finished = running.end()
        self.assert_one_line_error(finished, codes=(1,))
        self.assertEqual(finished.out, b"")


def complaints(finished):
    """What swipr said of the recording, but for late ticks, which a busy machine may have, and for
    symbols that this machine's libraries do not have."""
    return [
        line
        for line in finished.err.splitlines()
        if "came too late" not in line and "convert --explain" not in line
    ]


class ConvertTest(SwiprCase):
    def setUp(self):
        super().setUp()
        target = self.start_target("blocked_nofp")
        self.path = self.record(target.pid, "--count", 10, "--interval", "1ms")
        target.end()
        self.data = self.path.read_bytes()

    def convert_bytes(self, data):
        return self.swipr("convert", "--format", "collapsed", "--no-inlines", stdin_bytes=data, expect=None)

    def assert_converts_or_says_why(self, data, what):
        """Exit code 0, possibly with warnings, or 1 with a message of one line; never a signal, never silence."""
        finished = self.convert_bytes(data)
        if finished.code == 0:
            for line in finished.err.splitlines():
                self.assertTrue(line.startswith("swipr"), f"{what}: {line}")
        else:
            self.assertEqual(finished.code, 1, f"{what}: {finished}")
            self.assertEqual(len(finished.err.splitlines()), 1, f"{what}: {finished}")
            self.assertTrue(finished.err.startswith("swipr"), f"{what}: {finished}")
        return finished

    def test_whole(self):
        finished = self.convert_bytes(self.data)
        self.assertEqual(finished.code, 0, repr(finished))
        self.assertEqual(complaints(finished), [])
        self.assertIn(b"poll_6", finished.out)

    def test_cut_off_everywhere(self):
        converted = 0
        # Every 97th byte of a small recording; a larger one is cut into as many pieces.
        step = max(97, len(self.data) // 150 // 97 * 97)
        for length in range(0, len(self.data), step):
            finished = self.assert_converts_or_says_why(self.data[:length], f"cut off at {length}")
            converted += finished.code == 0
            if finished.code == 0:
                self.assertRegex(finished.err, "truncated", f"cut off at {length}, but no warning")
        self.assertGreater(converted, 0)

    def test_corrupted_in_the_middle(self):
        for at in range(17, len(self.data), max(1, len(self.data) // 60)):
            damaged = bytearray(self.data)
            damaged[at] ^= 0x55
            finished = self.assert_converts_or_says_why(bytes(damaged), f"damaged at {at}")
            self.assertTrue(complaints(finished), f"damaged at {at}, but no warning")

    def test_not_a_recording(self):
        for data in (b"", b"\n", b"hello, world\n" * 100, b"\x00" * 5000, b"\x7fELF" + bytes(200), b"\x89SWIPR\r\n"):
            with self.subTest(data=data[:20]):
                finished = self.convert_bytes(data)
                self.assert_one_line_error(finished, codes=(1,))
                self.assertEqual(finished.out, b"")

    def test_newer_version(self):
        data = bytearray(self.data)
        data[8:10] = struct.pack("<H", 2)
        finished = self.convert_bytes(bytes(data))
        self.assert_one_line_error(finished, "format 2", "newer", codes=(1,))
        self.assertEqual(finished.out, b"")

    def test_no_such_input(self):
        finished = self.swipr("convert", self.folder / "nothing.swipr", "--format", "perf", expect=None)
        self.assert_one_line_error(finished, "nothing.swipr", "no such file", codes=(1,))

    def test_input_that_is_a_folder(self):
        finished = self.swipr("convert", self.folder, "--format", "perf", expect=None)
        self.assert_one_line_error(finished, codes=(1,))

    def test_output_that_cannot_be_written(self):
        for output in ("/dev/full", self.folder / "no" / "x.perf"):
            for fmt in ("perf", "pprof", "collapsed"):
                with self.subTest(output=output, format=fmt):
                    finished = self.swipr("convert", self.path, "--format", fmt, "-o", output, expect=None)
                    self.assert_one_line_error(finished, re.escape(str(output)), codes=(1,))

    def test_a_failed_conversion_leaves_no_half_file(self):
        bad = self.folder / "bad.swipr"
        bad.write_bytes(b"not a recording at all\n")
        out = self.folder / "out.perf"
        finished = self.swipr("convert", bad, "--format", "perf", "-o", out, expect=None)
        self.assert_one_line_error(finished, codes=(1,))
        self.assertFalse(out.exists())

    def test_full_standard_output(self):
        with open("/dev/full", "wb") as full:
            running = self.start_swipr("convert", self.path, "--format", "perf", stdout=full)
        running.process.wait(timeout=60)
        self.assertEqual(running.process.returncode, 1)
        self.assertRegex(running.err(), r"\Aswipr.*[Nn]o space.*\n\Z")


if __name__ == "__main__":
    unittest.main()
