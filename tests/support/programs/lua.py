"""Programs of Lua whose truth is known, for all of its implementations."""

import re

# Lua cannot look whether its input has ended: a file says so.
HAS_ENDED = """
local function has_ended()
  local file = io.open(arg[1])
  if file then file:close() end
  return file ~= nil
end
print("ready")
io.stdout:flush()
"""

# The functions use 70, 20 and 10 % of the CPU time, and say so themselves.
SHARES = HAS_ENDED + """
local times = {seventy = 0, twenty = 0, ten = 0}
local function burn(name, seconds)
  local begin = os.clock()
  local spent
  repeat
    local total = 0
    for i = 1, 20000 do total = total + i * i % 7 end
    spent = os.clock() - begin
  until spent >= seconds
  times[name] = times[name] + spent
end
function seventy() burn("seventy", 0.07) end
function twenty() burn("twenty", 0.02) end
function ten() burn("ten", 0.01) end
function run()
  while not has_ended() do seventy(); twenty(); ten() end
end
run()
print(times.seventy, times.twenty, times.ten)
"""


def chains(ways):
    """Every function is called by one other: its name is that of its caller and one letter more. `ways` to call a function, in
    the text of a table of Lua."""
    return HAS_ENDED + "local ways = {" + ways + "}" + """
own = setmetatable({}, {__index = _G})
local chunks = {}
local load = loadstring or load
function kept(name)
  chunks[name] = chunks[name] or load(name .. "()")
  return chunks[name]
end
function resumed(f)
  local thread = coroutine.create(f)
  while coroutine.resume(thread) and coroutine.status(thread) ~= "dead" do end
end
local number = 0
local function make(name, depth)
  local text
  if depth == 0 then
    text = "local s = 0; for i = 1, 30000 do s = s + i * i % 7 end"
  else
    local parts = {}
    for letter in ("abc"):gmatch(".") do
      number = number + 1
      make(name .. letter, depth - 1)
      parts[#parts + 1] = ways[number % #ways + 1]:format(name .. letter)
    end
    text = ("local n = random(3); if n == 1 then %s elseif n == 2 then %s else %s end"):format((table.unpack or unpack)(parts))
  end
  load(("local random = math.random; function %s() %s; return 1 end"):format(name, text), "@chains.lua")()
end
make("r", 4)
function run()
  while not has_ended() do for i = 1, 200 do r() end end
end
run()
"""


# What Lua 5.1 has, too: direct calls, callbacks of C, metamethods, iterators, and coroutines that are left and resumed in the
# middle.
COMMON_WAYS = """
  "%s()", "own.%s()", "own:%s()", "pcall(function() %s() end)", "pcall(function() %s(); error('x') end)",
  "xpcall(function() error('x') end, function(e) %s(); return e end)", "table.sort({1, 2}, function(a, b) %s(); return a < b end)",
  "_ = ('x'):gsub('.', function() %s(); return 'y' end)", "_ = setmetatable({}, {__index = function() %s(); return 1 end}).any",
  "_ = setmetatable({}, {__add = function() %s(); return 1 end}) + 1",
  "setmetatable({}, {__newindex = function() %s() end}).x = 1",
  "setmetatable({}, {__call = function() %s() end})()", "for _ in function(_, done) %s(); if not done then return true end end do end",
  "coroutine.wrap(function() %s() end)()", "resumed(function() coroutine.yield(); %s() end)",
  "resumed(function() pcall(function() coroutine.yield(); %s(); error('x') end) end)",
  "resumed(function() resumed(function() coroutine.yield(); %s() end); coroutine.yield() end)",
  "kept('%s')()", "(function(...) %s() end)(1, 2)",
  "tostring(setmetatable({}, {__tostring = function() %s(); return '' end}))","""


def line_of(source, text):
    return next(number for number, line in enumerate(source.split("\n"), 1) if text in line)


def misplaced(stacks, excused):
    """Of the stacks of chains(), the weight of those in which a function does not stand behind its caller; but for those
    with the frame `excused`."""
    found = 0
    for stack in stacks:
        names = [m[1] for f in stack.frames if (m := re.fullmatch(r"(r[abc]*) \(chains\.lua\)", f))]
        is_wrong = any(name[:-1] != caller for caller, name in zip(names, names[1:]))
        found += stack.weight if is_wrong and excused not in stack.frames else 0
    return found
