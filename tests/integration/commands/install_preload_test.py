"""swipr install-preload: files of systemd that preload the library, below a root of our own."""

import pathlib
import shutil
import subprocess
import unittest

from support.case import SwiprCase


class InstallPreloadTest(SwiprCase):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.units = self.root / "usr/lib/systemd/system"
        self.units.mkdir(parents=True)
        self.own = self.root / "etc/systemd/system"

    def unit(self, name, text="[Service]\nExecStart=/bin/true\n", folder=None):
        path = (folder or self.units) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def install(self, *arguments, **options):
        return self.swipr("install-preload", "--root", self.root, *arguments, **options)

    def drop_in(self, name):
        return self.own / f"{name}.service.d/50-swipr.conf"

    def preload_line(self, name):
        (line,) = (line for line in self.drop_in(name).read_text().splitlines() if line.startswith("Environment="))
        return line

    def test_a_service_gets_a_drop_in_and_loses_it(self):
        self.unit("shop.service")
        said = self.install("--service", "shop").err
        self.assertIn(f"wrote {self.drop_in('shop')}", said)
        self.assertEqual(self.preload_line("shop"),
                         f'Environment="LD_PRELOAD={self.preload}" SWIPR_SOCKET_DIR=/run/swipr/{{UID}}')
        self.assertEqual(self.drop_in("shop").stat().st_mode & 0o777, 0o644)
        self.install("--service", "shop.service", "--remove")
        self.assertFalse(self.drop_in("shop").parent.exists())
        self.assertIn("nothing to remove", self.install("--service", "shop", "--remove").err)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_accepts_the_drop_in(self):
        path = self.unit("shop.service", "[Service]\nExecStart=/bin/true\nEnvironment='LD_PRELOAD=a.so b.so'\n")
        self.install("--service", "shop")
        shutil.copytree(self.drop_in("shop").parent, self.units / "shop.service.d")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_the_service_preloads_is_kept(self):
        self.unit("shop.service", "[Service]\nEnvironment=\"LD_PRELOAD=/opt/first.so\"\n")
        self.unit("10-more.conf", "[Service]\nEnvironment=LD_PRELOAD=/opt/second.so\n", self.own / "shop.service.d")
        for _ in range(2):  # what was written before does not count
            said = self.install("--service", "shop").err
            self.assertIn("preloads /opt/second.so, too", said)
            self.assertIn(f'"LD_PRELOAD=/opt/second.so:{self.preload}"', self.preload_line("shop"))
        self.install("--service", "shop", "--remove")
        self.assertTrue((self.own / "shop.service.d/10-more.conf").exists())

    def test_an_instance_has_the_unit_of_its_template(self):
        self.unit("worker@.service", "[Service]\nEnvironment=LD_PRELOAD=/opt/a.so\n")
        self.install("--service", "worker@3")
        self.assertIn("/opt/a.so:", self.preload_line("worker@3"))

    def test_a_unit_of_the_administrator_hides_the_one_of_the_package(self):
        self.unit("shop.service", "[Service]\nEnvironment=LD_PRELOAD=/opt/old.so\n")
        self.unit("shop.service", folder=self.own)
        self.install("--service", "shop")
        self.assertNotIn("old", self.preload_line("shop"))

    def test_files_of_others_are_left(self):
        self.unit("shop.service")
        path = self.unit("50-swipr.conf", "[Service]\nNice=5\n", self.drop_in("shop").parent)
        for arguments in ((), ("--remove",)):
            finished = self.install("--service", "shop", *arguments, expect=None)
            self.assert_one_line_error(finished, "was not written by swipr", codes=(1,))
        self.assertEqual(path.read_text(), "[Service]\nNice=5\n")

    def test_programs_of_a_user(self):
        config = self.folder / "config"
        environment = {"XDG_CONFIG_HOME": str(config)}
        self.swipr("install-preload", "--user", env=environment)
        path = config / "environment.d/50-swipr.conf"
        self.assertEqual(path.read_text().splitlines()[1], f"LD_PRELOAD=${{LD_PRELOAD:+$LD_PRELOAD:}}{self.preload}")
        self.unit("worker.service", folder=config / "systemd/user")
        said = self.swipr("install-preload", "--user", "--service", "worker", env=environment).err
        self.assertIn("systemctl --user daemon-reload", said)
        self.assertTrue((config / "systemd/user/worker.service.d/50-swipr.conf").exists())
        self.swipr("install-preload", "--user", "--remove", env=environment)
        self.assertFalse(path.exists())

    def test_bad_input_is_one_line_and_writes_nothing(self):
        self.unit("shop.service")
        cases = [(("--service", "missing"), 1, "no unit missing.service"), (("--service", "../shop"), 2, "not a name"),
                 (("--service", "a/b"), 2, "not a name"), ((), 2, "--service name or --user")]
        for arguments, code, text in cases:
            with self.subTest(arguments):
                self.assert_one_line_error(self.install(*arguments, expect=None), text, codes=(code,))
        self.assertFalse(self.own.exists())
        pathlib.Path(self.root, "etc").write_text("a file")
        self.assert_one_line_error(self.install("--service", "shop", expect=None), "cannot write", codes=(1,))


if __name__ == "__main__":
    unittest.main()
