"""Runs chosen tests of tests/integration with the verbose output of unittest.

usage: PYTHONPATH=tests python3 -m integration.chosen_tests [--without TEST,TEST…] [--unfit FILE] NAME…
NAME: as unittest takes them (integration.guest.interruption_test); TEST: the last part of a test's
name. FILE: JSON, from names of the form guest.interruption_test:TEST to the reasons why these tests
are skipped.
"""
import argparse
import json
import pathlib
import sys
import unittest


def tests_of(suite):
    for each in suite:
        yield from tests_of(each) if isinstance(each, unittest.TestSuite) else [each]


def skip(test, unfit):
    """As the decorator of unittest does, if the test is one of `unfit`."""
    place, _, name = test.id().rpartition(".")
    reason = unfit.get(f"{place.rpartition('.')[0].removeprefix('integration.')}:{name}")
    if reason:
        setattr(test, name, unittest.skip(reason)(getattr(test, name)))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--without", default="")
    parser.add_argument("--unfit", type=lambda path: json.loads(pathlib.Path(path).read_text()), default={})
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    without = set(options.without.split(","))
    loaded = unittest.defaultTestLoader.loadTestsFromNames(options.names)
    chosen = unittest.TestSuite(test for test in tests_of(loaded) if test.id().rpartition(".")[2] not in without)
    for test in chosen:
        skip(test, options.unfit)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(chosen).wasSuccessful())


if __name__ == "__main__":
    main()
