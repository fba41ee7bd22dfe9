"""Code that is hard to name: inlined functions, libraries loaded while recording."""

import unittest

from support import profiles
from support.case import SwiprCase


class CodeCase(SwiprCase):
    def check_dlopen(self, build):
        target = self.start_target(f"dlopener_{build}")
        running, data = self.start_streaming(target.pid, "--interval", "2ms")
        target.send(f"{self.target_path(f'plugin_{build}.so')}\n")
        self.assertEqual(target.read_line(), "loaded")
        path = self.finish_streaming_when(running, data, lambda stacks: share_of_plugin(stacks) > 0)
        for fmt in ("perf", "pprof"):
            stacks = self.convert(path, fmt)
            with self.subTest(build=build, format=fmt):
                libraries = {
                    library
                    for stack in stacks
                    for frame, library in zip(stack.frames, stack.libraries)
                    if frame == "plugin_hot"
                }
                self.assertTrue(libraries)
                for library in libraries:
                    self.assertIn(f"plugin_{build}.so", library)


def share_of_plugin(stacks):
    return profiles.share(stacks, "plugin_hot", among=("plugin",))


class CodeTest(CodeCase):
    def check_inlined(self, build):
        target = self.start_target(f"inlined_{build}")
        path = self.record(target.pid, "--count", 400, "--interval", "2ms")
        target.end()
        for fmt in ("collapsed", "perf", "pprof"):
            stacks = self.convert(path, fmt, "--weight", "cpu")
            with self.subTest(build=build, format=fmt):
                chain = [f"(anonymous namespace)::{name}" for name in ("inlined_middle", "inlined_leaf")]
                plain = [strip_arguments(stack) for stack in stacks if "[no stack]" not in stack.frames]
                self.assert_chain(plain, ["outer_hot", *chain], thread="inliner")
                self.assertGreater(profiles.share(plain, chain[1], among=("inliner",)), 95, plain)
        marked = set().union(*(strip_arguments(s).inlined for s in self.convert(path, "perf")))
        self.assertIn("(anonymous namespace)::inlined_leaf", marked)
        self.assertNotIn("outer_hot", marked)
        stacks = self.convert(path, "collapsed", "--no-inlines")
        self.assertFalse(profiles.has_function(stacks, "inlined_leaf"))
        self.assertTrue(profiles.has_function(stacks, "outer_hot"))

    def test_inlined_functions_without_frame_pointers(self):
        self.check_inlined("nofp")

    def test_inlined_functions_with_frame_pointers(self):
        self.check_inlined("fp")

    def test_library_loaded_while_recording(self):
        self.check_dlopen("nofp")

    def test_names_stay_mangled_when_asked_for(self):
        target = self.start_target("inlined_nofp")
        path = self.record(target.pid, "--count", 20, "--interval", "2ms")
        stacks = self.convert(path, "collapsed", "--no-demangle")
        self.assertTrue(profiles.has_function(stacks, "^_ZN6target18wait_for_stdin_endEv$"))
        self.assertFalse(profiles.has_function(stacks, r"target::wait_for_stdin_end"))
        stacks = self.convert(path, "collapsed")
        self.assertTrue(profiles.has_function(stacks, r"^target::wait_for_stdin_end\(\)$"))

    def test_code_that_is_unmapped_at_full_rate(self):
        """One thread unmaps code that another one's stack points to: the handler reads none of it."""
        target = self.start_target("code_unmapper_nofp")
        path = self.record(target.pid, "--rate", 10_000, "--count", 20_000)
        self.assertEqual(target.end().code, 0)
        stacks = [stack for stack in self.convert(path, "collapsed", "--weight", "cpu") if stack.thread == "spinner"]
        self.assertTrue(profiles.has_function(stacks, "^bare_spin$"))


def strip_arguments(stack):
    """Names of inlined functions come from DWARF, with or without their arguments."""

    def strip(name):
        return name.removesuffix("(unsigned long)").removesuffix("(std::uint64_t)")

    stack.frames = [strip(name) for name in stack.frames]
    stack.inlined = {strip(name) for name in stack.inlined}
    return stack


if __name__ == "__main__":
    unittest.main()
