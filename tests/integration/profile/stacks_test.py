"""Hostile stacks: exactly these frames, running and blocked, with and without frame pointers; what is
destroyed is cut short, never made up."""

import unittest

from support import deadline, products, profiles, raw, repetition, sampling
from support.case import SwiprCase

BUILDS = ("nofp", "fp")
MODES = ("busy", "blocked")
OMITTED = "[frames omitted]"
ROOT = "shape_thread"
VDSO_CLOCK = r"^\[?(__vdso_|vdso|clock_gettime)" if products.IS_X86_64 else "^__kernel_clock_gettime"
START_CONTEXT = r"__start_context$|^\[libc" if products.IS_X86_64 else r"^__startcontext$|^\[libc"
VFORK = r"(__libc_|__)?vfork|\[libc.*"
# What the leaf's loop inlines, and the call that blocks, below which a libc without debug information has no names.
BELOW_LEAF = r"^(stack_shape::rest(\(\))?|target::churn.*|(__GI_+)?poll|\[libc\.so.*)$"


class StacksCase(SwiprCase):
    def record_shape(self, program, shape, build, mode, count=60):
        """(stacks of the shape's thread; counters)."""
        target = self.start_target(f"{program}_{build}", shape, mode, self.target_path(f"plugin_{build}.so"))
        # A busy machine may keep a thread from running for the whole of a short recording.
        found = deadline.wait_until(lambda: self.stacks_of(target, mode, count), "a recording that has its stacks")
        self.assertEqual(target.end().code, 0)
        return found

    def stacks_of(self, target, mode, count):
        """None: the thread shows no stack at all."""
        path = self.record(target.pid, "--count", count, "--interval", "2ms")
        (source,) = raw.read(path.read_bytes()).values()
        stacks = self.convert(path, "collapsed", "--weight", "samples", "--no-inlines")
        mine = [stack for stack in stacks if stack.thread == "shape"]
        # A busy machine answers some ticks too late for a stack; who is blocked need not answer.
        without = [stack for stack in mine if stack.frames == ["[no stack]"]]
        self.assertLessEqual(profiles.total(without), source.totals["stacks_missing"])
        if mode == "blocked":
            self.assertEqual(without, [])
        stacks = [stack for stack in mine if stack not in without]
        return (stacks, source.totals) if stacks else None

    def check_shape(self, shape, chain, program="stack_frames", modes=MODES, rooted=True, builds=BUILDS):
        """Every stack ends in this chain, directly above the thread's root (`rooted`), or is nothing but
        this chain. Where the root is out of reach and frame pointers are used, a blocked thread of x86-64 shows
        its leaf only: nothing confirms the RBP that the walk would need."""
        for build in builds:
            for mode in modes:
                with self.subTest(shape=shape, build=build, mode=mode):
                    stacks, totals = self.record_shape(program, shape, build, mode)
                    leaf_only = not rooted and (build, mode) == ("fp", "blocked") and products.IS_X86_64
                    self.check_stacks(stacks, chain[-1:] if leaf_only else chain, rooted)
                    if rooted:
                        self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"])
                    else:
                        self.assertLess(totals["stacks_rooted"], totals["stacks_walked"])

    def check_stacks(self, stacks, chain, rooted):
        for stack in stacks:
            frames = self.without_callees(stack.frames, chain[-1])
            if rooted:
                frames = self.above_root(frames)
            self.assertEqual(frames, chain)

    def without_callees(self, frames, leaf):
        self.assertIn(leaf, frames)
        end = len(frames) - frames[::-1].index(leaf)
        for name in frames[end:]:
            self.assertRegex(name, BELOW_LEAF)
        return frames[:end]

    def above_root(self, frames):
        self.assertIn(ROOT, frames)
        at = frames.index(ROOT)
        self.assertLessEqual(at, 2)  # clone3, start_thread
        return frames[at + 1 :]


@sampling.sampled
class FramesTest(StacksCase):
    def test_realigned_stack(self):
        self.check_shape("realigned", ["realigned_outer", "realigned_middle", "realigned_leaf"])

    def test_large_frames(self):
        self.check_shape("big", ["big_outer", *["big_frame"] * 30, "huge_frame", "big_leaf"])

    def test_small_stack(self):
        self.check_shape("small", ["small_outer", "small_leaf"])

    def test_deep_stack_is_whole(self):
        calls = [f"int deep_call<{left % 1000}>(int)" for left in range(1500, 0, -1)]
        self.check_shape("deep_1500", ["deep_1500", *calls, "deep_leaf"])

    def test_too_deep_stack_keeps_both_ends(self):
        calls = [f"int deep_call<{left % 1000}>(int)" for left in range(5000, 0, -1)]
        for build in BUILDS:
            for mode in MODES:
                with self.subTest(build=build, mode=mode):
                    stacks, totals = self.record_shape("stack_frames", "deep_5000", build, mode)
                    self.assertGreater(totals["stacks_cut"], 0)
                    self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"])
                    for stack in stacks:
                        self.check_cut(stack.frames, ["deep_5000", *calls, "deep_leaf"])

    def check_cut(self, frames, chain):
        self.assertEqual(frames.count(OMITTED), 1)
        cut = frames.index(OMITTED)
        outer = self.above_root(frames[:cut])
        self.assertEqual(outer, chain[: len(outer)])
        self.assertGreater(len(outer), 500)
        inner = self.without_callees(frames[cut + 1 :], "deep_leaf")
        self.assertEqual(inner, chain[-len(inner) :])
        self.assertGreater(len(inner), 1500)


@sampling.sampled
class SmashedTest(StacksCase):
    def test_return_address_to_nowhere(self):
        self.check_shape("smashed_return", ["smashed_return", "smashed_leaf"], rooted=False)

    def test_return_address_to_unmapped_memory(self):
        self.check_shape("smashed_unmapped", ["smashed_unmapped", "smashed_leaf"], rooted=False)

    def test_frame_pointer(self):
        chain = ["smashed_frame_middle", "smashed_frame", "smashed_leaf"]
        self.check_shape("smashed_frame", chain, rooted=False)

    def test_frame_pointer_to_itself(self):
        chain = ["smashed_loop_middle", "smashed_loop", "smashed_leaf"]
        self.check_shape("smashed_loop", chain, rooted=False)


@sampling.sampled
class OtherStacksTest(StacksCase):
    def check_through_signal(self, shape, before, interrupted, after):
        """`before` and `after` a signal frame; `interrupted`: what libc's frames are to hold."""
        for build in BUILDS:
            for mode in MODES:
                with self.subTest(shape=shape, build=build, mode=mode):
                    stacks, totals = self.record_shape("stack_frames", shape, build, mode, count=100)
                    self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"])
                    inside = [stack for stack in stacks if after[0] in stack.frames]
                    self.assertGreater(profiles.total(inside), 0.5 * profiles.total(stacks))
                    for stack in inside:
                        frames = self.above_root(self.without_callees(stack.frames, after[-1]))
                        self.assertEqual(frames[: len(before)], before)
                        self.assertEqual(frames[-len(after) :], after)
                        between = frames[len(before) : -len(after)]
                        self.assertRegex(between[0], interrupted)
                        self.assertRegex(between[-1], r"__restore_rt$|^\[libc")

    def test_signal_handler_on_top_of_a_sleep(self):
        self.check_through_signal(
            "signal", ["signal_outer", "signal_sleeper"], "nanosleep", ["signal_handler", "signal_leaf"]
        )

    def test_alternate_signal_stack(self):
        self.check_through_signal(
            "alternate",
            ["alternate_outer", "alternate_raiser"],
            "raise",
            ["alternate_handler", "alternate_leaf"],
        )

    def test_coroutine_ends_at_its_own_root(self):
        for build in BUILDS:
            for mode in MODES:
                with self.subTest(build=build, mode=mode):
                    stacks, totals = self.record_shape("stack_frames", "fiber", build, mode)
                    self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"])
                    for stack in stacks:
                        first, *rest = self.without_callees(stack.frames, "fiber_leaf")
                        self.assertRegex(first, START_CONTEXT)
                        self.assertEqual(rest, ["fiber_entry", "fiber_inner", "fiber_leaf"])

    def check_torn_down(self, shape, outer, chain):
        for build in BUILDS:
            with self.subTest(shape=shape, build=build):
                stacks, totals = self.record_shape("stack_frames", shape, build, "busy", count=500)
                self.assert_chain(stacks, [ROOT, outer, *chain])
                # While libgcc installs the frame that catches (__builtin_eh_return), registers and
                # stack pointer belong to different frames for a few instructions: no CFI says so.
                between = [stack for stack in stacks if ROOT not in stack.frames]
                # None of the others claims less than its root; those may claim none.
                unrooted = totals["stacks_walked"] - totals["stacks_rooted"]
                self.assertLessEqual(unrooted, profiles.total(between))
                for stack in between:
                    self.assertTrue(any(name.startswith("_Unwind_") for name in stack.frames), stack.frames)
                self.assertLessEqual(profiles.total(between), profiles.total(stacks) * 0.05)
                for stack in stacks:
                    if stack not in between:
                        self.assertEqual(self.above_root(stack.frames)[0], outer)

    def test_exceptions(self):
        self.check_torn_down("throw", "throw_outer", ["throw_middle", "thrower"])

    def test_longjmp(self):
        self.check_torn_down("jump", "jump_outer", ["jump_middle", "jumper"])


@sampling.sampled
class CodeTest(StacksCase):
    def test_clock_in_the_vdso(self):
        for build in BUILDS:
            with self.subTest(build=build):
                stacks, totals = self.record_shape("stack_frames", "clock", build, "busy", count=100)
                self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"])
                for stack in stacks:
                    self.assertEqual(self.above_root(stack.frames)[:2], ["clock_outer", "clock_loop"])
                inside = [stack for stack in stacks if profiles.has_function([stack], VDSO_CLOCK)]
                self.assertGreater(profiles.total(inside), 0)

    def assert_through_generated(self, stack, shape, leaf=None, name=r"^\[anon"):
        leaf = leaf or f"{shape}_leaf"
        frames = self.above_root(self.without_callees(stack.frames, leaf))
        self.assertRegex(frames.pop(2), name)
        self.assertEqual(frames, [f"{shape}_root", f"{shape}_outer", leaf])

    def check_generated(self, program, shape, **options):
        for build in BUILDS:
            for mode in MODES:
                with self.subTest(build=build, mode=mode):
                    stacks, totals = self.record_shape(program, shape, build, mode)
                    self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"])
                    for stack in stacks:
                        self.assert_through_generated(stack, shape, **options)

    def test_generated_code_with_a_frame_pointer(self):
        self.check_generated("stack_code", "generated")

    def test_generated_code_that_registers_its_cfi(self):
        self.check_generated("stack_registered", "registered")

    def test_generated_code_that_is_replaced_in_its_place(self):
        for build in BUILDS:
            with self.subTest(build=build):
                inside, rooted = [], []

                def record():
                    stacks, _ = self.record_shape("stack_registered", "replaced", build, "busy", count=600)
                    found = [stack for stack in stacks if "replaced_leaf" in stack.frames]
                    whole = [stack for stack in found if ROOT in stack.frames]
                    for stack in whole:
                        self.assert_through_generated(stack, "replaced")
                    # Between a withdrawal and the next look nothing is known, and nothing is made up.
                    self.assert_no_decoy(found)
                    inside.extend(found)
                    rooted.extend(whole)

                def judge():  # after it the new code is known
                    repetition.assert_share(self, profiles.total(rooted), profiles.total(inside), 0.2)

                repetition.until_it_holds(record, judge)

    def assert_no_decoy(self, stacks):
        for stack in stacks:
            self.assertFalse(any(name.startswith("decoy") for name in stack.frames), stack.frames)

    def test_generated_code_that_only_the_jit_interface_tells_of(self):
        self.check_generated("stack_jit", "told", name=r"^generated::told\(\)$")

    def test_jit_object_that_is_replaced_in_its_place(self):
        for build in BUILDS:
            with self.subTest(build=build):
                inside, rooted = [], []

                def record():
                    stacks, _ = self.record_shape("stack_jit", "swapped", build, "busy", count=600)
                    found = [stack for stack in stacks if {"small_leaf", "large_leaf"} & set(stack.frames)]
                    whole = [stack for stack in found if ROOT in stack.frames]
                    for stack in whole:
                        size = "small" if "small_leaf" in stack.frames else "large"
                        self.assert_through_generated(stack, "swapped", f"{size}_leaf", r"^jit_(small|large)$")
                    self.assert_no_decoy(found)
                    inside.extend(found)
                    rooted.extend(whole)

                def judge():
                    for size in ("small", "large"):
                        known = [stack for stack in rooted if f"{size}_leaf" in stack.frames]
                        repetition.assert_share(self, profiles.total(known), profiles.total(inside), 0.1)
                        # Names hold from tick to tick: one at a change may have the other.
                        named = [stack for stack in known if f"jit_{size}" in stack.frames]
                        repetition.assert_share(self, profiles.total(named), profiles.total(known), 0.9)

                repetition.until_it_holds(record, judge)

    def test_jit_object_that_is_withdrawn(self):
        told = {"known_leaf": True, "unknown_leaf": False}
        for build in BUILDS:
            with self.subTest(build=build):
                inside = {leaf: [] for leaf in told}

                def record():
                    stacks, _ = self.record_shape("stack_jit", "withdrawn", build, "busy", count=600)
                    for leaf, so_far in inside.items():
                        found = [stack for stack in stacks if leaf in stack.frames]
                        for stack in found:
                            if ROOT in stack.frames:
                                self.assert_through_generated(
                                    stack, "withdrawn", leaf, r"^(jit_withdrawn|\[anon.*)$"
                                )
                        so_far.extend(found)

                def judge():  # until the next look the old state holds
                    for leaf, found in inside.items():
                        for name in (ROOT, "jit_withdrawn"):
                            known = profiles.total(stack for stack in found if name in stack.frames)
                            whole = profiles.total(found)
                            repetition.assert_share(self, known if told[leaf] else whole - known, whole, 0.5)

                repetition.until_it_holds(record, judge)

    def test_assembly_leaf_without_cfi(self):
        chain = ["bare_outer", "bare_caller", "bare_leaf"]
        for build in BUILDS:
            with self.subTest(build=build):
                stacks, totals = self.record_shape("stack_code", "bare", build, "busy")
                self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"])
                for stack in stacks:
                    frames = self.above_root(stack.frames)
                    self.assertEqual(frames, chain[: len(frames)])
                self.assert_chain(stacks, chain)

    def check_kernel(self, shape):
        chain = [f"{shape}_outer", "kernel_outer", "kernel_caller", f"{shape}_kernel"]
        for build in BUILDS:
            with self.subTest(shape=shape, build=build):
                stacks, totals = self.record_shape("stack_code", shape, build, "busy", count=150)
                self.assertGreaterEqual(totals["stacks_rooted"], 0.95 * totals["stacks_walked"])
                inside = [stack for stack in stacks if stack.frames[-1] == chain[-1]]
                self.assertGreater(profiles.total(inside), 0.8 * profiles.total(stacks))
                for stack in inside:
                    if stack.frames != chain[-1:]:
                        self.assertEqual(self.above_root(stack.frames), chain)

    def test_assembly_kernel_with_a_frame_of_its_own(self):
        self.check_kernel("fixed")

    def test_assembly_kernel_that_leaves_the_frame_pointer_alone(self):
        self.check_kernel("plain")

    def test_assembly_kernel_that_aligns_its_stack(self):
        self.check_kernel("aligned")

    def test_code_that_only_debug_frame_describes(self):
        self.check_shape(
            "described", ["described_outer", "described_middle", "described_leaf"], "stack_debug_frame"
        )

    def test_library_that_comes_and_goes(self):
        for build in BUILDS:
            with self.subTest(build=build):
                met = []

                def record():
                    stacks, totals = self.record_shape("stack_code", "unloaded", build, "busy", count=150)
                    self.assertGreaterEqual(totals["stacks_rooted"], 0.98 * totals["stacks_walked"])
                    met.extend(stacks)

                def judge():
                    self.assert_chain(met, [ROOT, "unloaded_outer", "plugin_hot"])
                    self.assert_chain(met, [ROOT, "unloaded_outer", "unloaded_rest"])

                repetition.until_it_holds(record, judge)

    def test_parent_of_a_vfork_child_shows_its_whole_stack(self):
        for build in BUILDS:
            for mode in MODES:
                with self.subTest(build=build, mode=mode):
                    stacks, totals = self.record_shape("stack_code", "vfork", build, mode)
                    self.assertEqual(totals["stacks_rooted"], totals["stacks_walked"])
                    for stack in stacks:
                        frames = self.above_root(stack.frames)
                        self.assertEqual(frames[:2], ["vfork_outer", "vfork_parent"])
                        self.assertRegex(" ".join(frames[2:]), f"^({VFORK})$")


if __name__ == "__main__":
    unittest.main()
