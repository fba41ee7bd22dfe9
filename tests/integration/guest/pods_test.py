"""Folders of sockets that several containers or users share: an emptyDir of Kubernetes, /run/swipr, /tmp."""

import json
import os
import re
import shutil
import subprocess
import unittest

from support import deadline
from support.case import SwiprCase

FIRST_USER, SECOND_USER = 10001, 10002


def can_unshare():
    command = ["unshare", "--mount-proc", "--pid", "--fork", "true"]
    return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0


@unittest.skipUnless(can_unshare(), "only root makes namespaces, and not in every container")
class PodsTest(SwiprCase):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.pod = self.folder / "pod"
        self.pod.mkdir()
        self.tools = self.folder / "tools"
        self.tools.mkdir()
        self.tools.chmod(0o755)
        for file in (self.program, self.preload):
            shutil.copy(file, self.tools)
        self.program = self.tools / self.program.name
        self.preload = self.tools / self.preload.name

    def inside(self, user, *command):
        """In PID and mount namespaces of its own, without capabilities."""
        return ["unshare", "--mount-proc", "--pid", "--fork", "--kill-child", "setpriv", f"--reuid={user}", f"--regid={user}",
                "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", *map(str, command)]

    def start_app(self, name, user=FIRST_USER, **env):
        app = self.tools / name
        shutil.copy(self.target_path("shares_nofp"), app)
        settings = {"SWIPR_SOCKET_DIR": str(self.pod), **env}
        target = self.start(*self.inside(user, "/usr/bin/env", f"LD_PRELOAD={self.preload}", app), env=settings)
        target.wait_ready()
        return target

    def sockets_of(self, user, count):
        folder = self.pod / str(user)
        # A socket that is not named yet begins with a dot.
        listening = lambda: sorted(folder.glob("[0-9]*.sock")) if folder.exists() else []
        deadline.wait_until(lambda: len(listening()) == count, f"{count} sockets")
        return listening()

    def record_as_sidecar(self, socket, user=FIRST_USER):
        """The name of the recorded program."""
        results = self.folder / f"results-{user}"
        if not results.exists():
            results.mkdir()
            os.chown(results, user, user)
        path = results / f"{socket.stem}.swipr"
        command = self.inside(user, self.program, "record", "--socket", socket, "--count", 20, "--interval", "2ms", "-o", path)
        finished = self.start(*command, env={"SWIPR_SOCKET_DIR": str(self.pod), "HOME": "/nonexistent"}).wait()
        self.assertEqual(finished.code, 0, finished)
        return re.search(r"\((\w+)\)|(alpha|beta)", self.swipr("report", path).out.decode())[0].strip("()")

    def test_two_processes_with_the_id_1_are_recorded_by_a_third_container(self):
        for mode in (0o777, 0o1777):
            with self.subTest(mode=oct(mode)):
                self.pod.chmod(mode)
                first = self.start_app("alpha")
                self.sockets_of(FIRST_USER, 1)
                second = self.start_app("beta")
                sockets = self.sockets_of(FIRST_USER, 2)
                self.assertEqual({socket.stem.split("-")[0] for socket in sockets}, {"1"})
                self.assertEqual({self.record_as_sidecar(socket) for socket in sockets}, {"alpha", "beta"})
                for target in (first, second):
                    self.assertEqual(target.end().code, 0)
                shutil.rmtree(self.pod / str(FIRST_USER))

    def test_an_agent_beside_them_records_all_and_knows_their_names(self):
        self.pod.chmod(0o777)
        attributes = "service.version=7,k8s.pod.name=cart-1,k8s.namespace.name=eu"
        targets = [self.start_app("alpha", SWIPR_SERVICE_NAME="shop"), self.start_app("beta", OTEL_RESOURCE_ATTRIBUTES=attributes)]
        self.sockets_of(FIRST_USER, 2)
        out = self.folder / "out"
        out.mkdir()
        os.chown(out, FIRST_USER, FIRST_USER)
        command = self.inside(FIRST_USER, self.program, "agent", "--once", "--slice", "1s", "--output-dir", out)
        finished = self.start(*command, env={"SWIPR_SOCKET_DIR": str(self.pod), "HOME": "/nonexistent"}).wait()
        self.assertEqual(finished.code, 0, finished)
        entries = json.loads((out / "last_accounts.json").read_text())["processes"]
        self.assertEqual({(one["pid"], one["command"], one["service"], one["container"]) for one in entries},
                         {(1, "alpha", "shop", ""), (1, "beta", "beta", "k8s__cart-1_eu__0")})
        for one in entries:
            self.assertGreater(one["recorded_ns"], 0)
        for target in targets:
            self.assertEqual(target.end().code, 0)

    def test_a_second_user_has_a_folder_of_its_own(self):
        self.pod.chmod(0o777)
        targets = [self.start_app("alpha"), self.start_app("beta", SECOND_USER)]
        for user in (FIRST_USER, SECOND_USER):
            (socket,) = self.sockets_of(user, 1)
            folder = socket.parent.stat()
            self.assertEqual((folder.st_uid, folder.st_mode & 0o777), (user, 0o700))
            self.record_as_sidecar(socket, user)
        entries = self.swipr("list", env={"SWIPR_SOCKET_DIR": str(self.pod)}).out.decode()
        for name in ("alpha", "beta"):
            self.assertRegex(entries, rf"\b{name}\b")
        for target in targets:
            self.assertEqual(target.end().code, 0)

    def test_the_users_id_in_the_setting(self):
        self.pod.chmod(0o777)
        target = self.start_app("alpha", SWIPR_SOCKET_DIR=f"{self.pod}/{{UID}}")
        (socket,) = self.sockets_of(FIRST_USER, 1)
        self.assertEqual(self.record_as_sidecar(socket), "alpha")
        self.assertEqual(target.end().code, 0)

    def test_information_that_another_container_cannot_read(self):
        self.pod.chmod(0o777)
        target = self.start_app("alpha", SWIPR_LABELS="team=a", OTEL_RESOURCE_ATTRIBUTES="k8s.pod.name=p,service.name=shop")
        (socket,) = self.sockets_of(FIRST_USER, 1)
        info = self.request(socket, "GET", "/v1/info").json()
        self.assertEqual((info["service"], info["labels"], info["argv0"]), ("shop", "team=a", str(self.tools / "alpha")))
        self.assertEqual((info["pid"], info["hostname"]), (1, os.uname().nodename))
        self.assertNotEqual(info["pid_namespace"], os.stat("/proc/self/ns/pid").st_ino)
        self.assertGreater(info["agent_cpu_ns"], 0)
        self.assertEqual(target.end().code, 0)

    def test_doctor_names_what_is_wrong_with_the_folder(self):
        def doctor(setup, **env):
            """As FIRST_USER, with a /tmp and a /run of its own."""
            script = f'mount -t tmpfs none /tmp -o mode=1777 && mount -t tmpfs none /run && {setup} && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", script, "sh", "setpriv", f"--reuid={FIRST_USER}", f"--regid={FIRST_USER}",
                       "--clear-groups", str(self.program), "doctor"]
            finished = self.start(*command, env={"SWIPR_SOCKET_DIR": "", "TMPDIR": "/tmp", **env}, cwd="/", pass_fds=(program,)).wait()
            self.assertIn("socket folder", finished.out.decode(), finished)
            return next(line for line in finished.out.decode().splitlines() if "socket folder" in line), finished.out.decode()

        # The product is below /tmp, which the mount hides.
        program = os.open(self.program, os.O_RDONLY)
        self.addCleanup(os.close, program)
        hidden, self.program = self.program, "/run/swipr-program"
        self.addCleanup(setattr, self, "program", hidden)
        copy = f"cat /proc/self/fd/{program} > {self.program} && chmod 755 {self.program}"
        own = str(FIRST_USER)
        for setup, told, remedy in (
            ("true", f"/tmp/swipr-{own}", ""),
            ("mkdir -m 1777 /run/swipr", f"/run/swipr/{own}", ""),
            (f"mkdir /tmp/swipr-{own} && chown 65534 /tmp/swipr-{own}", f"/tmp/swipr-{own} belongs to nobody", "deploy/tmpfiles.d/swipr.conf"),
            (f"ln -s / /tmp/swipr-{own}", "is not a folder, or a symlink", "as root, remove"),
        ):
            with self.subTest(setup=setup):
                line, everything = doctor(f"{copy} && {setup}")
                self.assertIn(told, line)
                self.assertIn(remedy, everything)
        for mode, told in ((0o777, f"/pod/{own}"), (0o755, "cannot be made")):
            with self.subTest(mode=oct(mode)):
                line, _ = doctor(f"{copy} && mkdir -m {mode:o} /run/pod && chmod {mode:o} /run/pod", SWIPR_SOCKET_DIR="/run/pod")
                self.assertIn(told, line)


if __name__ == "__main__":
    unittest.main()
