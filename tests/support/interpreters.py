"""The interpreters of Python that recordings are tested with."""

import glob
import os
import pathlib
import re

from support import root

SUPPORTED = range(8, 16)


def interpreters():
    """Paths of the interpreters, one of each minor version, and the newest Debian one, and those that SWIPR_PYTHONS
    names; or those of the root in SWIPR_TEST_ROOT, as they are called inside it."""
    if root.current():
        names = {path.name for path in pathlib.Path(root.current(), "usr/bin").glob("python3.*")}
        return [f"/usr/bin/python3.{minor}" for minor in SUPPORTED if f"python3.{minor}" in names]
    found = {}
    homes = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.*"))
    for path in [*homes, "/usr/bin/python3", *os.environ.get("SWIPR_PYTHONS", "").split(":")]:
        name = os.path.realpath(path)
        match = re.search(r"python3\.(\d+)$", name)
        if match and int(match[1]) in SUPPORTED:
            found[name] = path
    return sorted(found.values())
