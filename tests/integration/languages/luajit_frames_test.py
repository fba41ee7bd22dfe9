"""Frames of LuaJIT in recordings: shares, chains and waits of programs whose truth is known, with its compiler and without.
Of functions that are inlined into compiled code nothing is seen; then they are not among the frames, and no other is in their
place."""

import re
import unittest

from support import languages, profiles, sampling
from support.programs.lua import COMMON_WAYS, HAS_ENDED, SHARES, chains, line_of, misplaced

CHAINS = chains(COMMON_WAYS + """
  "local p = newproxy(true); getmetatable(p).__gc = function() %s() end; p = nil; collectgarbage()",
""")

# Each function waits for some time, in turns.
WAITS = HAS_ENDED + """
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned);")
function in_read() local pipe = io.popen("sleep 0.1; echo x"); assert(pipe:read("*l") == "x"); pipe:close() end
function in_wait() os.execute("sleep 0.1") end
function in_ffi() for i = 1, 100 do ffi.C.usleep(1000) end end
function in_thread() coroutine.wrap(function() in_wait() end)() end
function fall(n, after) if n > 0 then fall(n - 1, after) else after() end return n end
repeat
  in_read()
  in_wait()
  in_ffi()
  in_thread()
  fall(100, in_wait)
until has_ended()
print("whole")
"""

# Code, closures, errors, finalizers, collections, coroutines, compiled code and deep recursion that come and go. Many values
# are alive at once, so that compiled code spills some.
# The generated functions live for some time: compiling them takes longer than running them.
STORM = HAS_ENDED + """
local kept = {}
function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end
local function spill(a, b, c, d, e, f, g, h, i, j, k, l, m)
  return a * b + c - d, b + c, d + e, f + g, h + i, j + k, l + m, a + d, b + e, c + f, h + k, i + l, j + m
end
local function spilled(n)
  local a, b, c, d, e, f, g, h, i, j, k, l, m = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
  for _ = 1, n do
    a, b, c, d, e, f, g, h, i, j, k, l, m = spill(a % 9, b % 9, c % 9, d % 9, e % 9, f % 9, g % 9, h % 9, i % 9, j % 9, k % 9, l % 9, m % 9)
  end
  return a
end
function storm(number)
  local made = loadstring(("local n = ...; local s = %d; for i = 1, n do s = s + i end; return s"):format(number), "=made")
  kept[number % 200] = made
  local threads = {}
  for i = 1, 50 do
    local object = newproxy(true)
    getmetatable(object).__gc = function() return i end
    threads[i] = coroutine.wrap(function(a) while true do a = coroutine.yield(a, i) end end)
    threads[i](i)
  end
  for i = 1, 50 do threads[i](i) end
  if number % 10 == 0 then collectgarbage() end
  if number % 30 == 0 then jit.flush() end
  pcall(function() error({number}) end)
  if number % 20 == 0 then pcall(function() local function f() return 1 + f() end return f() end) end
  return made(200) + deep(500) + spilled(5000)
end
local number = 0
while not has_ended() do
  storm(number)
  number = number + 1
end
print("whole")
"""


def programs():
    return languages.programs("luajit", "SWIPR_LUAJITS")


@sampling.sampled
class LuaJitTest(languages.EndedByFileCase):
    def for_each_mode(self, check, text, name):
        source = self.source(text, f"{name}.lua")
        for program in programs():
            for mode in ("-joff", "-jon"):
                with self.subTest(program=program, mode=mode):
                    (self.folder / "end").unlink(missing_ok=True)
                    check([program, mode, source, self.folder / "end"])

    def test_shares(self):
        self.for_each_mode(self.check_shares, SHARES, "shares")

    def check_shares(self, command):
        program = self.run_program(*command)
        recording, times = self.record_shares(program)
        self.check_rooted(recording)
        # A slow machine answers some ticks too late for a stack.
        stacks = [s for s in self.convert(recording, "collapsed", "--weight", "cpu") if s.frames != ["[no stack]"]]
        self.check_lost(stacks, 0)
        whole = [s for s in stacks if "run (shares.lua)" in s.frames]
        self.assertGreater(profiles.total(whole), 0.98 * profiles.total(stacks))
        self.check_parts(whole, times, "{} (shares.lua)")
        if "-joff" not in command:
            return
        # The innermost functions of Lua.
        text = self.swipr("convert", recording, "--format", "perf", "--file-lines", "--state", "running").out.decode()
        lines = [int(found[0]) for block in text.split("\n\n") if "clock" not in block and (found := re.findall(r"shares\.lua:(\d+)", block))]
        self.assertGreater(lines.count(line_of(SHARES, "for i = 1")), 0.98 * len(lines))

    def test_chains(self):
        self.for_each_mode(self.check_chains, CHAINS, "chains")

    def check_chains(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 3000, "--interval", "1ms")
        self.finish(program)
        self.check_rooted(recording)
        stacks = self.running(recording, "--frames", "language")
        self.check_lost(stacks, 0)
        named = [s for s in stacks if "run (chains.lua)" in s.frames]
        self.assertGreater(profiles.total(named), 0.95 * profiles.total(stacks))
        # Objects of one function are finalized while another one runs, by the collector, which calls no function of Lua.
        self.assertEqual(misplaced(named, "collectgarbage"), 0)
        deep = [s for s in named if profiles.has_function([s], r"^r[abc]{4} ")]
        self.assertGreater(profiles.total(deep), 0.6 * profiles.total(named))
        for stack in deep:
            self.assertEqual(stack.frames[:3], ["main chunk (chains.lua)", "run (chains.lua)", "r (chains.lua)"])
        for name in ("__index", "__newindex", "__add", "for iterator", "sort", "gsub", "pcall", "tostring", "resume",
                     r"function <chains\.lua:1>", r'main chunk \(\[string "r[abc]+\(\)"\]\)'):
            self.assertTrue(profiles.has_function(named, f"^{name}"), name)

    def test_waits(self):
        """The blocked thread shows the function in which it waits, and is not woken."""
        self.for_each_mode(self.check_waits, WAITS, "waits")

    def check_waits(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--rate", 200, "--count", 800, "--max-overhead", "100%")
        self.assertEqual(self.finish(program).strip(), "whole")
        self.check_undisturbed(recording)
        self.check_rooted(recording)
        stacks = self.convert(recording, "collapsed", "--weight", "blocked")
        self.check_lost(stacks, 0)
        for name in ("in_read", "in_wait", "in_ffi", "in_thread"):
            share = sum(s.weight for s in stacks if f"{name} (waits.lua)" in s.frames) / profiles.total(stacks)
            self.assertGreater(share, 0.1, name)
        falls = [s for s in stacks if "fall (waits.lua)" in s.frames]
        self.assertTrue(falls)
        if "-joff" in command:
            self.assertEqual({s.frames.count("fall (waits.lua)") for s in falls}, {101})

    def test_storm(self):
        """The program survives, and its functions have names."""
        self.for_each_mode(self.check_storm, STORM, "storm")

    def check_storm(self, command):
        program = self.run_program(*command)
        recording = self.record(program.pid, "--count", 3000, "--rate", 1000)
        self.assertEqual(self.finish(program).strip(), "whole")
        stacks = self.running(recording)
        self.check_lost(stacks, 0.01)
        self.assertTrue(profiles.has_function(stacks, r"^f \(storm\.lua\)$"))
        inside = [s for s in stacks if "lua_pcall" in s.frames]
        named = [s for s in inside if profiles.has_function([s], r"^(storm|f) \(storm\.lua\)$")]
        self.assertGreater(profiles.total(named), 0.9 * profiles.total(inside))
        for name in ("deep", "pcall", "collectgarbage", "loadstring"):
            self.assertTrue(profiles.has_function(named, f"^{name}( |$)"), name)

    def run_shares(self, **started):
        source = self.source(SHARES, "shares.lua")
        return self.run_program(programs()[0], source, self.folder / "end", **started)

    def test_selected_frames(self):
        self.check_selected_frames(self.run_shares(), "lua LuaJIT: frames are read", "burn (shares.lua)", "^burn", "lua")

    def test_switched_off(self):
        self.check_switched_off(self.run_shares(env={"SWIPR_RUNTIMES": "0"}), "^burn")


if __name__ == "__main__":
    unittest.main()
