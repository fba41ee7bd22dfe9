#!/usr/bin/env python3
"""What scripts/release has made: complete, installable, and sufficient on a system that has nothing.

usage: PYTHONPATH=tests SWIPR_TARGETS=… tests/archive/archive_test.py   (SWIPR_ARCHIVES: its folder)
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import unittest

from support import profiles
from support.stores import engine_cases, engines, web_fronts

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHIVES = pathlib.Path(os.environ.get("SWIPR_ARCHIVES", ROOT / "build/archive"))
TARGETS = pathlib.Path(os.environ.get("SWIPR_TARGETS", ROOT / "build/release/tests/targets"))
MOST_BYTES = 12 << 20


def run(*command, code=0, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class ArchiveTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="swipr-archive-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.folder.chmod(0o755)
        (self.archive,) = (path for path in ARCHIVES.glob("*.tar.gz") if "-debug" not in path.name)
        with tarfile.open(self.archive) as archive:
            archive.extractall(self.folder)
        self.place = self.folder / self.archive.name.removesuffix(".tar.gz")

    def test_sums_and_size(self):
        sums = dict(reversed(line.split()) for line in (ARCHIVES / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(set(sums), {path.name for path in ARCHIVES.iterdir()} - {"SHA256SUMS"})
        self.assertEqual(len(sums), 5, "archive, symbols, package, wheel, image")
        for name, digest in sums.items():
            self.assertEqual(hashlib.sha256((ARCHIVES / name).read_bytes()).hexdigest(), digest)
        self.assertLessEqual(self.archive.stat().st_size, MOST_BYTES)

    def test_files(self):
        files = {str(path.relative_to(self.place)) for path in self.place.rglob("*") if path.is_file()}
        pages = {path.name for path in (ROOT / "docs/man").iterdir()}
        self.assertLessEqual(pages, {pathlib.Path(file).name for file in files if "/man/" in file})
        wanted = {"bin/swipr", "libexec/swipr/swipr-send", "lib/libswipr_preload.so", "include/swipr/swipr.h", "install", "LICENSE", "sbom.spdx.json"}
        self.assertLessEqual(wanted, files)
        with tarfile.open(self.archive) as archive:
            for member in archive:
                self.assertEqual((member.uid, member.gid, member.mode & 0o022), (0, 0, 0), member.name)

    def test_components(self):
        document = json.loads((self.place / "sbom.spdx.json").read_text())
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        for package in document["packages"]:
            self.assertRegex(package["versionInfo"], r"^\d")

    def test_symbols_are_found_by_build_id(self):
        (path,) = ARCHIVES.glob("*-debug.tar.gz")
        with tarfile.open(path) as archive:
            files = {re.sub(r"^.*\.build-id/", "", name) for name in archive.getnames() if name.endswith(".debug")}
        for file in ("bin/swipr", "libexec/swipr/swipr-send", "lib/libswipr_preload.so"):
            build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", self.place / file))[1]
            self.assertIn(f"{build_id[:2]}/{build_id[2:]}.debug", files)

    @unittest.skipUnless(os.geteuid() == 0, "only root changes the root directory")
    def test_needs_no_other_file(self):
        said = run("chroot", self.place, "/bin/swipr", "--version")
        self.assertRegex(said, r"^swipr \d")

    @unittest.skipUnless(os.geteuid() == 0, "only root changes the root directory")
    def test_pushes_from_a_root_with_no_other_program(self):
        store = engines.Engines()
        self.addCleanup(store.close)
        certificate, key = web_fronts.certificate(self.folder, "store")
        front = web_fronts.TlsFront((certificate, key), store.address)
        self.addCleanup(front.close)
        (self.place / "profile.pb.gz").write_bytes(engine_cases.pprof())
        push = ("chroot", self.place, "/bin/swipr", "push", "/profile.pb.gz")
        run(*push, f"pyroscope+{store.url}")
        self.assertEqual(len(store.received()), 1)
        # By name, and with the certificates of the system, where Fedora keeps them.
        for file, text in ("etc/hosts", "127.0.0.1 localhost\n"), ("etc/pki/tls/certs/ca-bundle.crt", certificate.read_text()):
            (self.place / file).parent.mkdir(parents=True, exist_ok=True)
            (self.place / file).write_text(text)
        run(*push, f"pyroscope+https://localhost:{front.port}")
        self.assertEqual(len(store.received()), 2)

    def test_install_record_and_uninstall(self):
        prefix = self.folder / "prefix"
        said = run(self.place / "install", prefix)
        self.assertIn(f"preload: {prefix}/lib/libswipr_preload.so", said)
        self.assertIn(f"{prefix}/bin is not in PATH", said)
        swipr, recording = prefix / "bin/swipr", self.folder / "x.swipr"
        self.assertEqual(sorted(path.name for path in prefix.iterdir()), ["bin", "include", "lib", "libexec", "share"])
        run(swipr, "record", "--count", 100, "--interval", "5ms", "-o", recording, "--", TARGETS / "burn_nofp", 1000)
        stacks = profiles.parse(run(swipr, "convert", "--format", "collapsed", recording, "-o", "-").encode(), "collapsed")
        self.assertTrue(profiles.has_function(stacks, "^burn_hot$"), stacks)
        run(self.place / "install", "--uninstall", prefix)
        left = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*"))
        self.assertEqual(left, ["bin", "include", "lib", "share", "share/man"])

    def made(self, pattern):
        (path,) = ARCHIVES.glob(pattern)
        return path

    def test_debian_package_needs_no_other(self):
        package = self.made("*.deb")
        self.assertNotIn("Depends:", run("dpkg-deb", "--info", package))
        run("dpkg-deb", "--extract", package, self.folder / "root")
        said = run(self.folder / "root/usr/bin/swipr", "preload-path").strip()
        self.assertEqual(said, f"{self.folder}/root/usr/lib/libswipr_preload.so")
        self.assertEqual(pathlib.Path(said).read_bytes(), (self.place / "lib/libswipr_preload.so").read_bytes())

    def test_wheel_installs_beside_python(self):
        run("/usr/bin/python3", "-m", "venv", self.folder / "env")
        python = self.folder / "env/bin/python"
        run(python, "-m", "pip", "install", "--no-index", self.made("*.whl"))
        swipr = self.folder / "env/bin/swipr"
        self.assertEqual(run(swipr, "preload-path").strip(), f"{self.folder}/env/lib/libswipr_preload.so")
        work = "import time\ndef work():\n    while time.process_time() < 0.5: pass\nwork()"
        run(swipr, "record", "--interval", "5ms", "-o", self.folder / "x.swipr", "--", python, "-c", work)
        self.assertIn("work (<string>)", run(swipr, "report", self.folder / "x.swipr"))
        run(python, "-m", "pip", "uninstall", "--yes", "swipr")
        self.assertEqual([path for path in (self.folder / "env").rglob("*swipr*") if path.is_file()], [])

    def test_image_has_what_its_digests_say(self):
        with tarfile.open(self.made("*-oci.tar")) as image:
            files = {name: image.extractfile(name).read() for name in image.getnames()}

        def blob(entry):
            data = files["blobs/" + entry["digest"].replace(":", "/")]
            self.assertEqual(("sha256:" + hashlib.sha256(data).hexdigest(), len(data)), (entry["digest"], entry["size"]))
            return data

        self.assertEqual(json.loads(files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        (entry,) = json.loads(files["index.json"])["manifests"]
        manifest = json.loads(blob(entry))
        config = json.loads(blob(manifest["config"]))
        layer = gzip.decompress(blob(manifest["layers"][0]))
        self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(layer).hexdigest()])
        with tarfile.open(fileobj=io.BytesIO(layer)) as files_of_layer:
            files_of_layer.extractall(self.folder / "image")
        (entrypoint,) = config["config"]["Entrypoint"]
        if os.geteuid() == 0:
            self.assertRegex(run("chroot", self.folder / "image", entrypoint, "--version"), r"^swipr \d")

    def test_refuses_what_it_cannot_do(self):
        done = subprocess.run([self.place / "install", "/proc/nothing"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("install: cannot write to /proc/nothing", done.stderr)
        self.assertEqual(subprocess.run([self.place / "install", "--what"], capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
