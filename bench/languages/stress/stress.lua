-- Functions whose names can be checked: each one called rNUMBER and letters is called by the one with a letter less.
-- usage: stress.lua ordinary|hostile. Ends with its input, which must be non-blocking; with code 0 if all calls returned
-- what they should.
local RESULT = 300
-- How a function calls the next one, which is the only one that it calls: never at its end, where Lua forgets it.
local WAYS = {
  "return (%s())", "local found = own.%s() return found", "local found = own:%s() return found",
  "local ok, found = pcall(function() local found = %s() return found end) return found",
  "local ok, found = pcall(function() error({%s()}) end) return found[1]",
  "local ok, found = xpcall(function() error('x') end, function() local found = %s() return found end) return found",
  "local found table.sort({1, 2}, function(a, b) found = %s() return a < b end) return found",
  "local found = ('x'):gsub('.', function() local found = %s() return found end) return tonumber(found)",
  "return setmetatable({}, {__index = function() local found = %s() return found end}).any",
  "return setmetatable({}, {__add = function() local found = %s() return found end}) + 1",
  "local found = coroutine.wrap(function() local found = %s() return found end)() return found",
  "return (resumed(function() coroutine.yield() local found = %s() return found end))",
  "return (resumed(function() local ok, found = pcall(function() coroutine.yield() error({%s()}) end) return found[1] end))",
  "for found in function() local found = %s() return found end do return found end",
  "local found do local x <close> = setmetatable({}, {__close = function() found = %s() end}) end return found",
  "local chunk = load('local found = %s() return found', '=part', 't', own) return (chunk())",
  "return ((function(...) local found = %s() return found end)(1, 2))",
}
local number = 0

function leaf(count)
  local value = 0
  for _ = 1, count do value = value + 1 end
  return value
end

function resumed(f)
  local thread = coroutine.create(f)
  local ok, found
  repeat ok, found = coroutine.resume(thread) until not ok or coroutine.status(thread) == "dead"
  return found
end

local function text_of(name, depth)
  local bodies, below = {}, {}
  for letter in ("abc"):gmatch(".") do
    if depth == 0 then
      bodies[#bodies + 1] = "return (leaf(300))"
    else
      bodies[#bodies + 1] = WAYS[math.random(#WAYS)]:gsub("%%s", name .. letter)
      below[#below + 1] = text_of(name .. letter, depth - 1)
    end
  end
  local text = "function %s()\n  local n = math.random(3)\n  if n == 1 then %s\n  elseif n == 2 then %s\n  else %s\n  end\nend\n"
  return text:format(name, table.unpack(bodies)) .. table.concat(below)
end

-- A new family of functions: its first one.
function made(depth)
  local base = "r" .. number % 2000
  number = number + 1
  local own = setmetatable({}, {__index = _G})
  own.own = own
  assert(load(text_of(base, depth), "@" .. base .. ".lua", "t", own))()
  -- The chunk has the name by which the first function is called.
  return load("local found = " .. base .. "() return found", "=first", "t", own)
end

function check(result)
  if result ~= RESULT then
    io.stderr:write("wrong result ", tostring(result), "\n")
    os.exit(3)
  end
end

function has_ended()
  local line, problem = io.read()
  return not line and not problem
end

function deep(depth)
  if depth == 0 then return 0 end
  return 1 + deep(depth - 1)
end

-- Until Lua refuses, after 200 calls of C. With 200,000 of Lua, collections copy their stack again and again.
function without_end()
  return (("x"):gsub(".", without_end))
end

function storm(first)
  for _ = 1, math.random(0, 100) do check(first()) end
  deep(math.random(0, 2000))
  if math.random() < 0.05 then pcall(without_end) end
  local threads = {}
  for place = 1, math.random(0, 20) do
    threads[place] = coroutine.wrap(function() while true do check(first()) coroutine.yield() end end)
  end
  for place = 1, #threads do threads[place]() end
  for place = 1, 1000 do setmetatable({"text " .. place}, {__gc = function() return place end}) end
  if math.random() < 0.02 then collectgarbage() end
end

local family = made(4)
print("ready")
io.stdout:flush()
if arg[1] == "hostile" then
  repeat storm(made(2)) until has_ended()
else
  repeat for _ = 1, 100 do check(family()) end until has_ended()
end
print("whole")
