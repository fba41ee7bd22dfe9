"""The root directory of another release (scripts/matrix), in which the programs of a test run. swipr itself
runs outside."""

import os
import pathlib
import tempfile

TARGETS = pathlib.Path("/opt/swipr/targets")  # inside

# Mounts are private, so nothing is left of them. The test's folder has the same path inside and outside.
_ENTER = (
    'root=$1 shared=$2 folder=$3; shift 3; mkdir -p "$root$shared" && mount --bind "$shared" "$root$shared" && '
    'mount -t proc proc "$root/proc" && exec chroot "$root" /usr/bin/env -C "$folder" "$@"'
)


def current():
    """None: the tests' programs run in the ordinary root."""
    return os.environ.get("SWIPR_TEST_ROOT")


def launcher(root, folder):
    """What to put before a command. It keeps its process id."""
    shared = os.path.realpath(tempfile.gettempdir())
    return ["unshare", "--mount", "sh", "-c", _ENTER, "sh", root, shared, str(folder)]
