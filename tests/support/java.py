"""Programs in Java, in every HotSpot on this machine whose version is supported."""

import glob
import os
import pathlib
import re
import subprocess
import tempfile

from support import languages, root

OLDEST = 8
SOURCES = pathlib.Path(__file__).parents[1] / "targets/java"


def machines():
    """Paths of `java`, one of each version that is supported; or those of the root in SWIPR_TEST_ROOT, as they are
    called inside it."""
    inside = root.current() or ""
    homes = glob.glob(f"{inside}/usr/lib/jvm/*") + ([] if inside else os.environ.get("SWIPR_JAVA_HOMES", "").split(":"))
    found = {}
    for path in {os.path.realpath(f"{home}/bin/java") for home in homes if os.path.exists(f"{home}/bin/java")}:
        release = pathlib.Path(path).parent.parent / "release"
        path = path.removeprefix(inside)
        text = release.read_text() if release.exists() else said_by(path, "-XshowSettings:properties")
        version = re.search(r"(?:JAVA_VERSION=\"|java\.specification\.version = )(?:1\.)?(\d+)", text)
        if version and int(version[1]) >= OLDEST:
            found[int(version[1])] = path
    return [found[version] for version in sorted(found)]


def said_by(path, *options):
    enter = root.launcher(root.current(), tempfile.gettempdir()) if root.current() else []
    return subprocess.run([*enter, path, *options, "-version"], capture_output=True, text=True, check=True).stderr


def version_of(path):
    return int(re.search(r"version \"(?:1\.)?(\d+)", said_by(path))[1])


class JavaCase(languages.LanguageCase):
    def for_each_machine(self, check, name, *options):
        """`check` of the program NAME.java."""
        self.compile(name)
        paths = machines()
        self.assertTrue(paths, "no HotSpot of a supported version on this machine")
        for path in paths:
            with self.subTest(machine=path):
                check(path, name, *options)

    def compile(self, name):
        written = self.folder / f"{name}.java"
        source = written if written.exists() else SOURCES / written.name
        subprocess.run(["javac", "--release", str(OLDEST), "-nowarn", "-d", self.folder, source], check=True)

    def run_java(self, path, name, *options, arguments=(), **started):
        return self.run_program(path, "-Xmx128m", *options, "-cp", self.folder, name, *arguments, **started)
