#!/usr/bin/env python3
"""The gate scripts/check_layers accepts the repository and rejects every canary."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# file, its only include, expected message of the gate
CANARIES = [
    ("common/core/bad.h", '#include "common/host/result.h"', "may not include common/host"),
    ("preload/handler/bad.cc", '#include "preload/agent/engine/recorder.h"', "may not include preload/agent"),
    ("preload/unwind/walk/bad.cc", "#include <string>", "reserved for"),
    ("preload/unwind/table/bad.cc", '#include "preload/unwind/walk/walk.h"', "may not include"),
    ("preload/unwind/stray.cc", "#include <cstdint>", "belongs to no module"),
    ("preload/handler/calls/bad.cc", '#include "preload/handler/signals/disposition.h"', "may not include"),
    ("preload/agent/record/stream/bad.cc", '#include "preload/agent/record/accounts/run_state.h"', "may not include"),
    ("preload/handler/bad.cc", '#include "preload/unwind/image/elf_image.h"', "may not include"),
    ("symbolize/elf/bad.cc", '#include "symbolize/symbolizer.h"', "may not include symbolize"),
    ("symbolize/text/bad.cc", "#include <fmt/format.h>", "reserved for"),
    ("cli/session/http/bad.cc", '#include "cli/session/record_session.h"', "may not include"),
    ("cli/export/bad.cc", '#include "symbolize/symbolizer.h"', "may not include symbolize"),
    ("cli/commands/bad.cc", "#include <CLI/CLI.hpp>", "reserved for cli/options"),
    ("cli/profile/bad.cc", "#include <nlohmann/json.hpp>", "reserved for"),
    ("cli/profile/bad.cc", '#include "recording.h"', "no full path"),
    ("cli/stray/bad.cc", "#include <cstdint>", "belongs to no module"),
]


def check(root):
    return subprocess.run([ROOT / "scripts/check_layers", root], capture_output=True, text=True)


class LayersGate(unittest.TestCase):
    def test_accepts_the_repository(self):
        result = check(ROOT)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_rejects_every_canary(self):
        for file, include, complaint in CANARIES:
            with self.subTest(file=file, include=include), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / file
                path.parent.mkdir(parents=True)
                path.write_text(include + "\n")
                result = check(folder)
                self.assertEqual(result.returncode, 1)
                self.assertIn(complaint, result.stdout)

    def test_rejects_an_empty_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check(folder).returncode, 1)


if __name__ == "__main__":
    unittest.main()
