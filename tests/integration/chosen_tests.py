"""Runs chosen tests of tests/integration with the verbose output of unittest.

usage: PYTHONPATH=tests python3 -m integration.chosen_tests [--without TEST,TEST…] NAME…
NAME: as unittest takes them (integration.guest.interruption_test); TEST: the last part of a test's
name.
"""
import argparse
import sys
import unittest


def tests_of(suite):
    for each in suite:
        yield from tests_of(each) if isinstance(each, unittest.TestSuite) else [each]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--without", default="")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    unfit = set(options.without.split(","))
    loaded = unittest.defaultTestLoader.loadTestsFromNames(options.names)
    chosen = unittest.TestSuite(test for test in tests_of(loaded) if test.id().rpartition(".")[2] not in unfit)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(chosen).wasSuccessful())


if __name__ == "__main__":
    main()
