"""Programs in containers: another PID namespace, where their own id is another, and another mount
namespace, where their files are at paths that mean something else outside."""

import os
import subprocess
import unittest

from support import deadline, profiles
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


if __name__ == "__main__":
    unittest.main()
