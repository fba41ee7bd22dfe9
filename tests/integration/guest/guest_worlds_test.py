"""Programs that enter namespaces, change their root or confine themselves behave as without swipr."""

import contextlib
import os
import pathlib
import select
import shutil
import socket
import subprocess
import unittest

from support import deadline, process_stat, profiles, raw
from support.guest import GuestCase

TARGET = "guest_worlds_nofp"


def may_make_user_namespaces():
    command = ["unshare", "--user", "true"]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


NEEDS_USER_NAMESPACES = unittest.skipUnless(
    may_make_user_namespaces(), "the kernel makes none below chroot, nor where a sysctl or filter forbids them")


class NamespaceTest(GuestCase):
    @NEEDS_USER_NAMESPACES
    def test_user_namespace(self):
        said = self.check_same(TARGET, "unshare_user")
        self.assertEqual(said[0], "unshare: 0 ")

    @NEEDS_USER_NAMESPACES
    def test_user_namespace_by_call_number(self):
        self.assertEqual(self.check_same(TARGET, "unshare_user_by_number"), ["unshare: 0 "])

    @NEEDS_USER_NAMESPACES
    def test_user_and_pid_namespace(self):
        said = self.check_same(TARGET, "unshare_user_and_pid")
        self.assertIn("child is 1", said)

    def test_unsharing_what_threads_share(self):
        said = self.check_same(TARGET, "unshare_threads")
        self.assertEqual(said, [f"CLONE_{what}: 0 " for what in ("THREAD", "SIGHAND", "VM")])

    @NEEDS_USER_NAMESPACES
    def test_program_with_threads_of_its_own(self):
        said = self.check_same(TARGET, "unshare_with_threads")
        self.assertEqual(said, ["unshare: -1 Invalid argument", "unshare: 0 "])

    @NEEDS_USER_NAMESPACES
    def test_entering_namespaces(self):
        for way in ("enter", "enter_by_number"):
            with self.subTest(way):
                self.assertEqual(self.check_same(TARGET, way)[:2], ["made: y", "user: 0 "])

    @unittest.skipUnless(os.geteuid() == 0, "entering a mount namespace needs CAP_SYS_ADMIN")
    def test_entering_a_mount_namespace(self):
        self.assertEqual(self.check_same(TARGET, "enter_mount_namespace_only"), ["setns: 0 "])

    def check_recordable_afterwards(self, *way):
        target = self.start_target(TARGET, *way, ready=False)
        if "leave_root" in way:
            target.wait_ready()
            self.wait_for_socket(target.pid)
            target.send("leave\n")
        for said in iter(target.read_line, "moved"):
            self.assertIn(": 0 ", said)
            if said.startswith("unshare"):
                break
        self.wait_for_socket(target.pid)
        path = self.record(target.pid, "--rate", 1000, "--count", 500)
        self.assertTrue(profiles.has_function(self.convert(path), "moved_hot"))
        self.assertEqual(target.end().code, 0)
        # With its own root directory the control thread can remove its socket after a chroot.
        if "refuse_unshare" not in way:
            self.assertEqual(list(self.sockets.iterdir()), [])

    @NEEDS_USER_NAMESPACES
    def test_recordable_in_a_user_namespace(self):
        self.check_recordable_afterwards("unshare_user_by_number")

    @unittest.skipUnless(os.geteuid() == 0, "chroot needs CAP_SYS_CHROOT")
    def test_recordable_in_a_folder_without_proc(self):
        self.check_recordable_afterwards("leave_root")

    @unittest.skipUnless(os.geteuid() == 0, "chroot needs CAP_SYS_CHROOT")
    def test_recordable_without_proc_in_a_container(self):
        self.check_recordable_afterwards("refuse_unshare", "leave_root")

    @NEEDS_USER_NAMESPACES
    def test_no_child_stays_when_the_process_enters_a_namespace_during_an_answer(self):
        target = self.start_target(TARGET, "unshare_user_when_told", ready=False)
        target.wait_ready()
        place = self.wait_for_socket(target.pid)

        def children():
            found = set()
            for entry in pathlib.Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if int(process_stat.fields(entry)[1]) == target.pid:
                        found.add((int(entry.name), process_stat.state(entry)))
            return found

        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2 * deadline.DEADLINE_SECONDS)
            client.connect(str(place))
            client.sendall(b"GET /debug/pprof/profile?seconds=100 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            deadline.wait_until(children, "the process that writes the answer")
            target.send("go\n")
            self.assertEqual(target.read_line(), "unshare: 0 ")
            while client.recv(1 << 16):  # to its end: the helper has ended, too
                pass
        deadline.wait_until(lambda: not children(), "the end of the child")
        self.assertEqual(target.end().code, 0)

    @NEEDS_USER_NAMESPACES
    def test_recording_goes_on_in_a_user_namespace(self):
        _, path = self.run_recorded(TARGET, "unshare_user")
        self.assertTrue(profiles.has_function(self.convert(path), "main"))


@unittest.skipUnless(os.geteuid() == 0, "only root may become another user")
class IdentityTest(GuestCase):
    def test_capabilities_between_user_and_groups(self):
        said = self.check_same(TARGET, "change_identity")
        self.assertEqual(said, [f"{what}: 0 " for what in ("keep", "uid", "capget", "capset", "gid", "groups")])

    def test_at_once_after_the_start(self):
        """The control thread may just be beginning."""
        command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "true"]
        for _ in range(20):
            subprocess.run(command, env=self.environment({"LD_PRELOAD": str(self.preload)}), check=True)


    def test_an_image_of_another_user_is_followed(self):
        self.folder.chmod(0o755)
        stage = self.folder / "stage"
        stage.mkdir()
        preload, burn = (shutil.copy(path, stage) for path in (self.preload, self.target_path("burn_nofp")))
        path = self.folder / "x.swipr"
        command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", burn, 100, 3]
        self.swipr("record", "--rate", 1000, "-o", path, "--", *command, expect=3, env={"SWIPR_PRELOAD": preload})
        self.assertTrue(profiles.has_function(self.convert(path), "burn_hot"))


class DescriptorsTest(GuestCase):
    """Descriptors that the program closes are closed: a reader at the other end gets end of file."""

    def check_files_are_closed(self, *prefix):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        shell = f"exec {self.target_path(TARGET)} {' '.join(prefix)} close_files 3>&{writer} {writer}>&-"
        target = self.start("/usr/bin/env", f"LD_PRELOAD={self.preload}", "/bin/sh", "-c", shell, pass_fds=(writer,))
        os.close(writer)
        target.wait_ready()
        self.wait_for_socket(target.pid)
        target.send("go\n")
        for pipe in (reader, target.process.stdout.fileno()):
            self.assertEqual(select.select([pipe], [], [], deadline.DEADLINE_SECONDS)[0], [pipe])
            self.assertEqual(os.read(pipe, 1), b"")
        self.record(target.pid, "--count", 5, "--interval", "1ms")
        self.assertEqual(target.end().code, 0)

    def test_files_are_closed(self):
        self.check_files_are_closed()

    def test_files_are_closed_before_linux_5_9(self):
        self.check_files_are_closed("refuse_close_range")


class SeccompTest(GuestCase):
    def check_confined(self, way):
        self.assertEqual(self.check_same(TARGET, way), ["confined"])
        plain = self.run_plain(TARGET, way)
        self.assertEqual(plain.code, 7)
        _, path = self.run_recorded(TARGET, way)
        self.assertTrue(profiles.has_function(self.convert(path), "main"), "recorded up to the filter")

    def test_filter_by_prctl(self):
        self.check_confined("confined_by_prctl")

    def test_filter_by_the_number_of_prctl(self):
        self.check_confined("confined_by_prctl_number")

    def test_strict_mode(self):
        for way in ("confined_strictly_by_prctl", "confined_strictly_by_seccomp"):
            with self.subTest(way):
                self.check_confined(way)

    def test_filter_by_seccomp(self):
        self.check_confined("confined_by_seccomp")

    def test_filter_for_all_threads(self):
        self.check_confined("confined_threads")

    def test_asking_for_filters_ends_nothing(self):
        self.check_same(TARGET, "ask_for_filters")
        _, path = self.run_recorded(TARGET, "ask_for_filters")
        (source,) = raw.read(path.read_bytes()).values()  # one part: nobody left and came back
        self.assertTrue(source.ended)

    def test_filter_that_is_refused_leaves_it_recordable(self):
        self.check_same(TARGET, "probe_filters")
        target = self.start_target(TARGET, "probe_filters", ready=False)
        while target.read_line() != "moved":
            pass
        deadline.wait_until(self.socket_of(target.pid).exists, "its socket")
        path = self.record(target.pid, "--rate", 1000, "--count", 500)
        self.assertTrue(profiles.has_function(self.convert(path), "moved_hot"))
        self.assertEqual(target.end().code, 0)


if __name__ == "__main__":
    unittest.main()
