"""Programs in containers: another PID namespace, where their own id is another, and another mount
namespace, where their files are at paths that mean something else outside."""

import os
import shutil
import subprocess
import unittest

from support import deadline, products, profiles
from support.case import SwiprCase


def can_unshare():
    command = ["unshare", "--mount-proc", "--pid", "--fork", "true"]
    return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0


@unittest.skipUnless(can_unshare(), "only root makes namespaces, and not in every container")
class NamespacesTest(SwiprCase):
    def start_inside(self):
        """A target that is a file on a file system of its own and has the id 1; its id for us."""
        place = self.folder / "inside"
        place.mkdir()
        script = (
            'mount -t tmpfs none "$1" && cp "$2" "$1/app" && cp "$3" "$1/" && '
            'exec env LD_PRELOAD="$1/libswipr_preload.so" "$1/app"'
        )
        target = self.start(
            "unshare", "--mount-proc", "--pid", "--fork", "sh", "-c", script, "sh",
            place, self.target_path("shares_nofp"), self.preload,
        )
        target.wait_ready()
        deadline.wait_until(self.listed, "the socket of the target")
        self.assertEqual(list(place.iterdir()), [], "the target's files can be seen from outside")
        (entry,) = self.listed()
        self.assertEqual(entry["command"], "app")
        self.assertEqual(os.path.basename(entry["socket"]), "1.sock")
        self.assertNotEqual(entry["pid"], 1)
        return target, entry["pid"]

    def test_functions_are_named_and_the_id_is_ours(self):
        target, pid = self.start_inside()
        for fmt in ("collapsed", "perf", "pprof"):
            with self.subTest(format=fmt):
                path = self.folder / f"inside.{fmt}"

                def is_named(fmt=fmt, path=path):  # unless the target did not get a CPU
                    self.swipr("record", "--pid", pid, "--count", 50, "--interval", "2ms", "--format", fmt, "-o", path)
                    return profiles.has_function(profiles.parse(path.read_bytes(), fmt), "^seventy_percent$")

                deadline.wait_until(is_named, "the busiest function")
        self.assertEqual(target.end().code, 0)

    def test_answers_of_the_process_itself_are_named(self):
        target, pid = self.start_inside()
        (entry,) = self.listed()

        def is_named():
            body = '{"numberOfSamples":50,"timeInterval":"2 ms","format":"collapsed"}'
            answer = self.request(self.sockets / os.path.basename(entry["socket"]), "POST", "/sample", body=body)
            self.assertEqual(answer.status, 200, answer.text)
            return profiles.has_function(profiles.parse_collapsed(answer.body), "^seventy_percent$")

        deadline.wait_until(is_named, f"the busiest function of process {pid}")
        self.assertEqual(target.end().code, 0)

    def start_hidden(self):
        """As start_inside, with an id that no process has where swipr runs in swipr_elsewhere()."""
        place = self.folder / "inside"
        place.mkdir()
        script = (
            'mount -t tmpfs none "$1" && cp "$2" "$1/app" && cp "$3" "$1/" && '
            f"echo {self.HIDDEN_PID - 1} > /proc/sys/kernel/ns_last_pid && "
            'LD_PRELOAD="$1/libswipr_preload.so" "$1/app"; exit $?'
        )
        target = self.start(
            "unshare", "--mount-proc", "--pid", "--fork", "sh", "-c", script, "sh",
            place, self.target_path("shares_nofp"), self.preload,
        )
        target.wait_ready()
        self.wait_for_socket(self.HIDDEN_PID)
        return target

    def swipr_elsewhere(self, *arguments, **options):
        """swipr in namespaces of its own: it shares the folder of the sockets with the target, and
        sees neither the target's files nor its entry in /proc."""
        program, self.program = self.program, "unshare"
        try:
            return self.swipr("--mount-proc", "--pid", "--fork", program, *arguments, **options)
        finally:
            self.program = program

    def record_elsewhere(self):
        """A recording in which the busiest function is found: a target may not have got a CPU."""
        path = self.folder / "elsewhere.swipr"
        build_id = products.build_id(self.target_path("shares_nofp"))

        def is_recorded():
            self.swipr_elsewhere(
                "record", "--pid", self.HIDDEN_PID, "--count", 50, "--interval", "2ms", "-o", path)
            self.assertTrue((self.modules / build_id).exists(), "the program's file was not fetched")
            return self.is_named(path)

        deadline.wait_until(is_recorded, "the busiest function")
        return path, build_id

    def is_named(self, path):
        output = self.swipr_elsewhere("convert", path, "--format", "collapsed").out
        return profiles.has_function(profiles.parse_collapsed(output), "^seventy_percent$")

    @property
    def modules(self):
        return self.folder / "cache" / "swipr" / "modules"

    HIDDEN_PID = 1001

    def test_files_come_through_the_socket_when_only_that_is_shared(self):
        target = self.start_hidden()
        path, build_id = self.record_elsewhere()
        self.assertEqual((self.modules / build_id).read_bytes(), self.target_path("shares_nofp").read_bytes())
        # Whoever converts fetches them, too, while the process lives.
        shutil.rmtree(self.modules.parent)
        self.assertTrue(self.is_named(path))
        self.assertEqual(target.end().code, 0)
        # Once fetched, for good; without them there are no names.
        self.assertTrue(self.is_named(path))
        shutil.rmtree(self.modules.parent)
        self.assertFalse(self.is_named(path))

    def test_a_number_that_is_another_process_here(self):
        """The socket of the same name is that of a process elsewhere, which we do not see."""
        target = self.start_hidden()
        script = f'echo {self.HIDDEN_PID - 1} > /proc/sys/kernel/ns_last_pid; sleep 1000 & exec "$@"'
        command = ["--mount-proc", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", self.program]
        finished = self.start("unshare", *command, "record", "--pid", self.HIDDEN_PID, "--count", 5, "-o", self.folder / "wrong.swipr").wait()
        self.assert_one_line_error(finished, f"process {self.HIDDEN_PID} .* was not started with the preload", codes=(1,))
        self.assertEqual(target.end().code, 0)

    def test_a_number_that_was_another_process(self):
        """A killed process leaves its socket file, and its id comes to be another's."""
        script = """
            take() { echo $(($1 - 1)) > /proc/sys/kernel/ns_last_pid; }
            take "$1"
            LD_PRELOAD="$2" "$3" < /dev/zero > /dev/null &
            until [ -S "$SWIPR_SOCKET_DIR/$1.sock" ]; do :; done
            kill -9 "$1"; wait "$1"
            [ -S "$SWIPR_SOCKET_DIR/$1.sock" ] && take "$1"
            sleep 1000 &
            [ "$!" = "$1" ] && echo recycled
            "$4" record --pid "$1" --count 5 -o wrong.swipr
            echo "ended with $?"
            kill -9 "$1"; wait "$1"; take "$1"
            LD_PRELOAD="$2" "$3" < /dev/zero > /dev/null &
            "$4" record --pid "$1" --count 5 -o right.swipr
            echo "ended with $?"
        """
        run = self.start("unshare", "--mount-proc", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh",
                         self.HIDDEN_PID, self.preload, self.target_path("waiter_nofp"), self.program)
        finished = run.wait()
        self.assertEqual(finished.out.decode().splitlines(), ["recycled", "ended with 1", "ended with 0"], repr(finished))
        self.assertRegex(finished.err, f"process {self.HIDDEN_PID} .sleep. was not started with the preload")
        self.assertFalse((self.folder / "wrong.swipr").exists())


if __name__ == "__main__":
    unittest.main()
