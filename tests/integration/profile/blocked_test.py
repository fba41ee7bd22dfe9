"""A thread that is blocked in a known chain of six functions shows exactly these, consecutive."""

import unittest

from support import products, profiles, raw
from support.case import SwiprCase

KINDS = ("poll", "epoll", "condition", "mutex", "read", "nanosleep")
# libc's exported name, which is there with and without libc's debug information.
BLOCKING_CALL = {
    "poll": "poll",
    "epoll": products.EPOLL_WAIT,
    "condition": "pthread_cond_wait",
    "mutex": "pthread_mutex_lock",
    "read": "read",
    "nanosleep": "nanosleep",
}


class BlockedCase(SwiprCase):
    def check_chains(self, build):
        target = self.start_target(f"blocked_{build}")
        path = self.record(target.pid, "--count", 30, "--interval", "2ms")
        self.assertEqual(target.end().code, 0)
        for fmt in ("collapsed", "perf", "pprof"):
            stacks = self.convert(path, fmt, "--weight", "samples")
            for kind in KINDS:
                with self.subTest(build=build, format=fmt, kind=kind):
                    self.check_thread(stacks, kind)
        return path

    def check_thread(self, stacks, kind):
        mine = [stack for stack in stacks if stack.thread == kind]
        self.assertGreater(profiles.total(mine), 0, "the thread is missing")
        chain = [f"{kind}_{number}" for number in range(1, 7)]
        for stack in mine:
            self.assert_chain([stack], chain)
            above = stack.frames[stack.frames.index(chain[-1]) + 1 :]
            called = [name for name in above if "block_in_" not in name]
            self.assertRegex(" ".join(called), BLOCKING_CALL[kind])
            # Only libc's debug information names clone3.
            self.assertRegex(stack.frames[0], rf"^{products.THREAD_ROOT}$|^\[libc")


class BlockedTest(BlockedCase):
    def test_without_frame_pointers(self):
        self.check_chains("nofp")

    def test_with_frame_pointers(self):
        self.check_chains("fp")

    def test_blocked_threads_are_blocked_and_use_no_cpu(self):
        target = self.start_target("blocked_nofp")
        path = self.record(target.pid, "--count", 50, "--interval", "2ms")
        (source,) = raw.read(path.read_bytes()).values()
        pprof = profiles.Pprof(self.swipr("convert", path, "--format", "pprof").out)
        for kind in KINDS:
            mine = [s for s in pprof.stacks("wall/nanoseconds") if s.thread == kind]
            wall = profiles.total(mine)
            cpu = sum(s.values["cpu/nanoseconds"] for s in mine)
            blocked = sum(s.weight for s in mine if s.state == "blocked")
            with self.subTest(kind=kind):
                self.assertGreaterEqual(wall, 0.9 * source.totals["ticks"] * 2_000_000)
                self.assertLess(cpu, 0.01 * wall)
                self.assertGreater(blocked, 0.99 * wall)

    def test_every_stack_reaches_its_root(self):
        target = self.start_target("blocked_nofp")
        path = self.record(target.pid, "--count", 30, "--interval", "2ms")
        (source,) = raw.read(path.read_bytes()).values()
        self.assertGreater(source.totals["stacks_walked"], 0)
        self.assertEqual(source.totals["stacks_rooted"], source.totals["stacks_walked"])


if __name__ == "__main__":
    unittest.main()
