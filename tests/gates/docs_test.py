#!/usr/bin/env python3
"""The gate scripts/check_docs accepts the repository and rejects every canary."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# text of a document, expected message of the gate
CANARIES = [
    ("See `common/core/absent.h`.", "`common/core/absent.h` does not exist"),
    ("See `absent.cc`.", "`absent.cc` does not exist"),
    ("See `tests/absent_folder/`.", "`tests/absent_folder/` does not exist"),
    ("Call `find_absent`.", "`find_absent` does not exist"),
    ("Call `Present::find_absent`.", "`Present::find_absent` does not exist"),
    ("Call `absent()`.", "`absent()` does not exist"),
    ("Set `SWIPR_ABSENT`.", "`SWIPR_ABSENT` does not exist"),
    ("Use `--absent-option`.", "`--absent-option` does not exist"),
    ("Use `swipr record --absent-option`.", "`--absent-option` does not exist"),
    ("Wraps `find_\nabsent over`, `find_absent`.", ":2: `find_absent` does not exist"),
    ("```sh\nswipr record --absent-option\n```", ":2: `--absent-option` does not exist"),
    ("```sh\nscripts/absent\n```", "`scripts/absent` does not exist"),
    ("[text](absent.md)", "link to absent.md"),
    ("word " * 30, "150 columns"),
    ("| " + "cell | " * 20, "columns"),
]
ACCEPTED = """`common/core/present.h`, `core/present.h`, `present.h`, `core`, `Present::find_it`, `find_it()`,
`--present`, `swipr record --present -- other --absent`, `go tool --absent`, `anything else at all`,
[text](common/core/present.h)
"""


def check(root):
    return subprocess.run([ROOT / "scripts/check_docs", root], capture_output=True, text=True)


class DocsGate(unittest.TestCase):
    def check_document(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "common/core/present.h"
            source.parent.mkdir(parents=True)
            source.write_text('struct Present { void find_it(); };  // takes "--present"\n')
            (pathlib.Path(folder) / "README.md").write_text(text)
            return check(folder)

    def test_accepts_the_repository(self):
        result = check(ROOT)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_accepts_names_that_exist(self):
        result = self.check_document(ACCEPTED)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_rejects_every_canary(self):
        for text, complaint in CANARIES:
            with self.subTest(text=text):
                result = self.check_document(text)
                self.assertEqual(result.returncode, 1)
                self.assertIn(complaint, result.stdout)

    def test_rejects_an_empty_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check(folder).returncode, 1)


if __name__ == "__main__":
    unittest.main()
