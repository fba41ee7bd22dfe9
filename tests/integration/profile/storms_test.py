"""Programs that change as fast as they can while they are recorded at 1 kHz: threads, libraries, children
and images come and go. They get what they would get without swipr, and the recording adds up.

SWIPR_STORM_SECONDS makes each storm last longer than the second that it lasts by default."""

import json
import os
import unittest

from support import products, profiles, sampling
from support.case import SwiprCase

MILLISECONDS = int(1000 * float(os.environ.get("SWIPR_STORM_SECONDS", "1")))


@sampling.sampled
class StormsTest(SwiprCase):
    def storm(self, kind):
        """The command that makes the storm."""
        program = self.target_path("storm_nofp")
        file = products.target("plugin_nofp.so") if kind == "dlopen" else program
        return program, kind, MILLISECONDS, file

    def check_program(self, finished):
        """Its own count of what went wrong, and its CPU time."""
        self.assertEqual(finished.code, 0, repr(finished))
        word, count, wrong, cpu_ns = finished.out.decode().splitlines()[-1].split()
        self.assertEqual((word, wrong), ("done", "0"))
        self.assertGreater(int(count), 0)
        return int(cpu_ns)

    def check_recording(self, path, cpu_ns=None):
        """All formats can be made; what each process used is there, within 1 %."""
        for fmt in ("collapsed", "perf", "pprof"):
            self.assertTrue(profiles.has_function(self.convert(path, fmt), "storm_hot"), fmt)
        report = json.loads(self.swipr("report", "--json", path).out)
        told = {}
        for thread in report["threads"]:
            told[thread["pid"]] = told.get(thread["pid"], 0) + thread["cpu_ns"]
        by_pid = {}
        for process in report["processes"]:
            by_pid.setdefault(process["pid"], []).append(process)
        for pid, images in by_pid.items():
            if any(not image["complete"] for image in images):
                continue  # replaced by exec: what its last threads used after the last look is not known
            totals = [image["totals"] for image in images]
            used = sum(total["process_cpu_ns"] - total["agent_cpu_ns"] for total in totals)
            self.assertAlmostEqual(told.get(pid, 0), used, delta=0.01 * used + 2e6, msg=pid)
        if cpu_ns is not None:
            main = report["processes"][0]
            whole = told[main["pid"]] + main["totals"]["agent_cpu_ns"]
            self.assertAlmostEqual(whole, cpu_ns, delta=0.01 * cpu_ns + 30e6)
        return report

    def check_from_the_start(self, kind):
        path = self.folder / f"{kind}.swipr"
        finished = self.swipr("record", "--interval", "1ms", "-o", path, "--", *self.storm(kind))
        return self.check_recording(path, self.check_program(finished))

    def check_from_outside(self, kind, *arguments):
        target = self.start(*self.storm(kind), preloaded=True)
        target.wait_ready()
        self.wait_for_socket(target.pid)
        path = self.folder / f"{kind}.swipr"
        self.swipr("record", "--pid", target.pid, "--interval", "1ms", "-o", path, *arguments)
        self.check_program(target.wait())
        return self.check_recording(path)

    def test_threads(self):
        report = self.check_from_the_start("threads")
        self.assertIn("[ended threads]", {thread["name"] for thread in report["threads"]})

    def test_threads_in_cpu_mode(self):
        path = self.folder / "cpu.swipr"
        command = self.storm("threads")
        finished = self.swipr("record", "--mode", "cpu", "--interval", "1ms", "-o", path, "--", *command)
        self.check_recording(path, self.check_program(finished))

    def test_libraries(self):
        self.check_from_the_start("dlopen")

    def test_children_of_fork_followed(self):
        report = self.check_from_the_start("fork")
        self.assertGreater(len(report["processes"]), 1)

    def test_children_of_fork_from_outside(self):
        self.check_from_outside("fork")

    def test_images_of_exec_followed(self):
        self.check_from_the_start("exec")

    def test_images_of_exec_from_outside(self):
        self.check_from_outside("exec")

    def test_children_of_vfork(self):
        self.check_from_the_start("vfork")

    def test_children_of_vfork_from_outside(self):
        self.check_from_outside("vfork")

    def test_children_of_posix_spawn(self):
        self.check_from_the_start("spawn")

    def test_a_process_that_becomes_itself_again_and_again(self):
        path = self.folder / "again.swipr"
        program = self.target_path("storm_nofp")
        self.swipr("record", "--interval", "1ms", "-o", path, "--", program, "again", 100, program)
        report = json.loads(self.swipr("report", "--json", path).out)
        self.assertEqual(len({process["pid"] for process in report["processes"]}), 1)
        self.assertTrue(report["processes"][-1]["complete"])
        self.assertGreater(len(report["processes"]), 50)


if __name__ == "__main__":
    unittest.main()
