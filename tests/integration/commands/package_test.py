"""The Debian package is complete and works in the folder in which it is unpacked."""

import os
import pathlib
import subprocess
import unittest

from support import products
from support.case import SwiprCase
from support.stores import engine_cases


class PackageTest(SwiprCase):
    def test_package(self):
        build = products.swipr().parent.parent
        subprocess.run(["cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", self.folder],
                       check=True, stdout=subprocess.DEVNULL)
        (package,) = self.folder.glob("swipr_*.deb")
        fields = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        self.assertIn("libdw1", fields)
        root = self.folder / "root"
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        for name in ("usr/bin/swipr", "usr/libexec/swipr/swipr-send", "usr/lib/tmpfiles.d/swipr.conf", "usr/lib/libswipr_preload.so", "usr/share/man/man1/swipr.1",
                     "usr/share/man/man7/libswipr_preload.7", "usr/share/zsh/site-functions/_swipr",
                     "usr/share/bash-completion/completions/swipr", "usr/share/fish/vendor_completions.d/swipr.fish",
                     *(f"usr/share/man/man1/swipr-{command}.1"
                       for command in ("record", "convert", "report", "view", "push", "list", "doctor", "install-preload"))):
            self.assertIn(name, files)
        self.program = pathlib.Path(root, "usr/bin/swipr")
        recording = self.folder / "packaged.swipr"
        self.swipr("record", "-o", recording, "--", "/bin/true")
        self.assertIn(b"true", self.swipr("report", recording).out)
        # The sending program is found, and answers.
        profile = self.folder / "profile.pb.gz"
        profile.write_bytes(engine_cases.pprof())
        said = self.swipr("push", profile, "parca+http://127.0.0.1:1", "--ca-file", "/absent", expect=1).err
        self.assertIn("cannot read /absent", said)

    def test_uninstall_leaves_no_file_and_no_empty_folder(self):
        build = products.swipr().parent.parent
        environment = {**os.environ, "DESTDIR": str(self.folder)}
        manifest = build / "install_manifest.txt"
        prefix = self.folder / "usr/local"
        (prefix / "share/man").mkdir(parents=True)
        (prefix / "share/fish").mkdir()
        (prefix / "share/fish/another_file").touch()
        subprocess.run(["cmake", "--install", build, "--prefix", "/usr/local"], check=True, env=environment,
                       stdout=subprocess.DEVNULL)
        self.addCleanup(manifest.unlink)
        self.assertTrue((prefix / "bin/swipr").exists())
        script = pathlib.Path(__file__).resolve().parents[3] / "cmake/uninstall.cmake"
        subprocess.run(["cmake", "-P", script, build], check=True, env=environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        left = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*"))
        self.assertEqual(left, ["bin", "lib", "share", "share/fish", "share/fish/another_file", "share/man"])


if __name__ == "__main__":
    unittest.main()
