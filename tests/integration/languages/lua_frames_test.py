"""Frames of Lua in recordings: shares, chains and waits of programs whose truth is known, in the Lua of this machine, or
of the root in SWIPR_TEST_ROOT, and in those that SWIPR_LUAS names (paths of lua5.4, separated by colons)."""

import re
import unittest

from support import languages, profiles, root, sampling
from support.programs.lua import COMMON_WAYS, HAS_ENDED, SHARES, chains, line_of, misplaced

WAYS = COMMON_WAYS + """
  "do local x <close> = setmetatable({}, {__close = function() %s() end}) end",
  "setmetatable({}, {__gc = function() %s() end}); collectgarbage()", "_ = #setmetatable({}, {__len = function() %s(); return 1 end})",
  "_ = setmetatable({}, {__lt = function() %s(); return true end}) < {}",
"""
CHAINS = chains(WAYS)

# Each function waits for some time, in turns.
WAITS = HAS_ENDED + """
function in_read() local pipe <close> = io.popen("sleep 0.1; echo x"); assert(pipe:read("l") == "x") end
function in_wait() os.execute("sleep 0.1") end
function in_thread() coroutine.wrap(function() in_wait() end)() end
function fall(n, after) if n > 0 then fall(n - 1, after) else after() end return n end
repeat
  in_read()
  in_wait()
  in_thread()
  fall(100, in_wait)
until has_ended()
print("whole")
"""

# Code, closures, errors, finalizers, collections, coroutines and deep recursion that come and go.
STORM = HAS_ENDED + """
function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
function storm(number)
  local text = "local n = ...; local s = %d; for i = 1, n do s = s + i end; " .. ("s = s + 1; "):rep(50) .. "return s"
  local made = load(text:format(number), "=made")
  local threads = {}
  for i = 1, 50 do
    setmetatable({}, {__gc = function() return i end})
    threads[i] = coroutine.wrap(function(a) while true do a = coroutine.yield(a, i) end end)
    threads[i](i)
  end
  for i = 1, 50 do threads[i](i) end
  if number % 2 == 0 then collectgarbage() end
  if number % 50 == 0 then collectgarbage(number % 100 == 0 and "generational" or "incremental") end
  pcall(function() error({number}) end)
  if number % 200 == 0 then pcall(function() local function f() return 1 + f() end return f() end) end
  return made(200) + deep(500)
end
local number = 0
while not has_ended() do
  storm(number)
  number = number + 1
end
print("whole")
"""


def programs():
    return languages.programs("lua5.4", "SWIPR_LUAS")


@sampling.sampled
class LuaTest(languages.EndedByFileCase):
    def for_each_lua(self, check, text, name):
        self.for_each(programs(), check, text, f"{name}.lua")

    def test_shares(self):
        self.for_each_lua(self.check_shares, SHARES, "shares")

    def check_shares(self, command):
        program = self.run_program(*command)
        recording, times = self.record_shares(program)
        self.check_rooted(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "cpu")
        self.check_lost(stacks, 0)
        whole = [s for s in stacks if "run (shares.lua)" in s.frames]
        self.assertGreater(profiles.total(whole), 0.995 * profiles.total(stacks))
        self.check_parts(whole, times, "{} (shares.lua)")
        # The innermost functions of Lua. The loop calls nothing: its line is known from a register.
        lines = [(found[0], "clock" in block) for block in self.blocks_of(recording, "--state", "running")
                 if (found := re.findall(r"shares\.lua:(\d+)", block))]
        in_loop = [int(line) for line, in_clock in lines if not in_clock]
        self.assertGreater(in_loop.count(line_of(SHARES, "for i = 1")), 0.98 * len(in_loop))

    def blocks_of(self, recording, *selection):
        """The stacks as text with lines."""
        return self.swipr("convert", recording, "--format", "perf", "--file-lines", *selection).out.decode().split("\n\n")

    def test_chains(self):
        self.for_each_lua(self.check_chains, CHAINS, "chains")

    def check_chains(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 3000, "--interval", "1ms")
        self.finish(program)
        self.check_rooted(recording)
        stacks = self.running(recording, "--frames", "language")
        self.check_lost(stacks, 0)
        # Objects of one function are finalized while another one runs.
        self.assertEqual(misplaced(stacks, "__gc (chains.lua)"), 0)
        deep = [s for s in stacks if profiles.has_function([s], r"^r[abc]{4} ")]
        self.assertGreater(profiles.total(deep), 0.9 * profiles.total(stacks))
        # Calls outside of native code that is met for the first time are missing in that stack (docs/design/101).
        whole = [s for s in deep if s.frames[:3] == ["main chunk (chains.lua)", "run (chains.lua)", "r (chains.lua)"]]
        self.assertGreater(profiles.total(whole), 0.998 * profiles.total(deep))
        for name in ("__index", "__newindex", "__add", "__lt", "__len", "__gc", "__close", "for iterator", "sort", "gsub", "pcall", "tostring",
                     r"function <chains\.lua:1>", r'main chunk \(\[string "r[abc]+\(\)"\]\)'):
            self.assertTrue(profiles.has_function(stacks, f"^{name}"), name)

    def test_native_frames(self):
        """Each loop is replaced by the functions that it runs; functions of C stand above their caller."""
        self.for_each_lua(self.check_native_frames, CHAINS, "chains")

    def check_native_frames(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 500, "--interval", "2ms")
        self.finish(program)
        stacks = self.running(recording)
        whole = [s for s in stacks if "r (chains.lua)" in s.frames]
        self.assertGreater(profiles.total(whole), 0.95 * profiles.total(stacks))
        for stack in whole:
            main, run, r = (stack.frames.index(f"{name} (chains.lua)") for name in ("main chunk", "run", "r"))
            self.assertLess(stack.frames.index("lua_pcallk"), main, stack.frames)
            self.assertEqual((main + 1, main + 2), (run, r), stack.frames)

    def test_waits(self):
        """The blocked thread shows the function in which it waits, and is not woken."""
        self.for_each_lua(self.check_waits, WAITS, "waits")

    def check_waits(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--rate", 200, "--count", 800, "--max-overhead", "100%")
        self.assertEqual(self.finish(program).strip(), "whole")
        self.check_undisturbed(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "blocked")
        self.check_lost(stacks, 0)
        for name in ("in_read", "in_wait", "in_thread"):
            share = sum(s.weight for s in stacks if f"{name} (waits.lua)" in s.frames) / profiles.total(stacks)
            self.assertGreater(share, 0.1, name)
        falls = [s for s in stacks if "fall (waits.lua)" in s.frames]
        self.assertEqual({s.frames.count("fall (waits.lua)") for s in falls}, {101})
        lines = {int(line) for block in self.blocks_of(recording, "--state", "blocked") for line in re.findall(r"waits\.lua:(\d+)", block)}
        self.assertLessEqual({line_of(WAITS, text) for text in ("function in_read", "function in_wait", "  in_wait()", "function fall")}, lines)

    def test_storm(self):
        """The program survives, and its functions have names."""
        self.for_each_lua(self.check_storm, STORM, "storm")

    def check_storm(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 3000, "--rate", 1000)
        self.assertEqual(self.finish(program).strip(), "whole")
        stacks = self.running(recording)
        self.check_lost(stacks, 0.002)
        self.assertTrue(profiles.has_function(stacks, r"^f \(storm\.lua\)$"))
        inside = [s for s in stacks if "lua_pcallk" in s.frames]
        named = [s for s in inside if profiles.has_function([s], r"^(storm|f) \(storm\.lua\)$")]
        self.assertGreater(profiles.total(named), 0.98 * profiles.total(inside))
        for name in ("deep", "pcall", "collectgarbage", "load"):
            self.assertTrue(profiles.has_function(named, f"^{name}( |$)"), name)

    def test_states_of_threads(self):
        """Each thread shows the functions of its own state, while states are closed and made anew."""
        if root.current():
            self.skipTest("the program is built for this machine")
        program = self.run_program(self.target_path("lua_states_nofp"))
        recording = self.record(program.pid, "--count", 2000, "--rate", 1000)
        self.finish(program)
        stacks = self.running(recording)
        self.check_lost(stacks, 0.05)  # functions of a state that was closed before they were named
        of_lua = 0
        for stack in stacks:
            found = {m[1] for f in stack.frames if (m := re.match(r"(state_\d)_", f))}
            self.assertLessEqual(len(found), 1, stack.frames)
            if found:
                of_lua += stack.weight
                self.assertEqual(found.pop(), stack.thread)
        self.assertGreater(of_lua, 0.5 * profiles.total(stacks))

    def run_shares(self, **started):
        source = self.source(SHARES, "shares.lua")
        return self.run_program(programs()[0], source, self.folder / "end", **started)

    def test_selected_frames(self):
        program = self.run_shares()
        self.check_selected_frames(program, r"lua 5\.4\.\d: frames are read", "burn (shares.lua)", "^burn", "lua")

    def test_switched_off(self):
        program = self.run_shares(env={"SWIPR_RUNTIMES": "0"})
        self.check_switched_off(program, "^burn")


if __name__ == "__main__":
    unittest.main()
