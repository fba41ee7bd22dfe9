"""CPython's tests, as packaged by Debian (libpython3.11-testsuite), without those of vsock."""

import xml.etree.ElementTree as xml

PYTHON = "/usr/bin/python3.11"
SHORT = ("test_thread", "test_select", "test_threading ThreadJoinOnShutdown")
LONG = (
    "test_thread", "test_select", "test_threading", "test_fork1", "test_signal", "test_eintr", "test_subprocess", "test_selectors", "test_queue", "test_wait3", "test_wait4",
    "test_posix", "test_pty", "test_faulthandler", "test_socket", "test_ssl", "test_asyncio", "test_multiprocessing_fork",
    "test_multiprocessing_forkserver", "test_multiprocessing_spawn", "test_multiprocessing_main_handling",
    "test_concurrent_futures", "test_os",
)


def _results(path):
    results = {}
    for case in xml.parse(path).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        results[case.get("name")] = min(kinds, default="passed")
    return results


def suites(modules):
    """A suite for each of CPython's test modules, or one class of its tests."""
    def suite(name):
        module, _, only = name.partition(" ")

        def run(world):
            report = world.work / "results.xml"
            ended = world.run(PYTHON, "-m", "test", "--timeout", 800, "-i", "*VSOCK*", "-m", f"*{only}*", "--junit-xml", report, module,
                              seconds=900)
            if not report.exists():
                return {"all": f"no results; {ended}"}
            return {"exit code": ended.code, **_results(report)}
        return run
    return {f"cpython {module}": suite(module) for module in modules}
