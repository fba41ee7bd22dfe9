-- Functions that use 70, 20 and 10 % of the CPU time. Commands on standard input, an answer line each:
-- mark: "<units of work> <CPU ns in seventy> <in twenty> <in ten>"
-- Lua cannot ask whether there is input: standard input must be non-blocking.

local used = {seventy = 0, twenty = 0, ten = 0}
local units = 0

local function cpu()
  return math.floor(os.clock() * 1e9)
end

function spin()
  local value = 1
  for number = 0, 1999 do value = value * 31 % 65521 + number end
end

function chain(depth)
  if depth == 0 then spin() else chain(depth - 1) end
end

function burn(name, count)
  local begin = cpu()
  for _ = 1, count do
    chain(8)
    units = units + 1
  end
  used[name] = used[name] + cpu() - begin
end

function seventy() burn("seventy", 700) end
function twenty() burn("twenty", 200) end
function ten() burn("ten", 100) end

-- Until there is a line (true), or the input has ended (false).
function work()
  while true do
    local line, problem = io.read()
    if line or not problem then return line end
    seventy()
    twenty()
    ten()
  end
end

print("ready")
io.stdout:flush()
while work() do
  print(string.format("%d %d %d %d", units, used.seventy, used.twenty, used.ten))
  io.stdout:flush()
end
