# One thread whose methods use 70, 20 and 10 % of its CPU time. Commands on standard input, an answer line each:
# mark: "<units of work> <CPU ns in seventy> <in twenty> <in ten>"
$used = { seventy: 0, twenty: 0, ten: 0 }
$units = 0

def cpu
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end

def spin
  value = 1
  number = 0
  while number < 250
    value = value * 31 % 65521 + number
    number += 1
  end
end

def chain(depth)
  depth == 0 ? spin : chain(depth - 1)
end

def burn(name, count)
  start = cpu
  done = 0
  while done < count
    chain(8)
    $units += 1
    done += 1
  end
  $used[name] += cpu - start
end

def seventy
  burn(:seventy, 70)
end

def twenty
  burn(:twenty, 20)
end

def ten
  burn(:ten, 10)
end

def work
  until $ended
    seventy
    twenty
    ten
  end
end

$stdout.sync = true
worker = Thread.new { work }
puts 'ready'
puts [$units, *$used.values].join(' ') while $stdin.gets
$ended = true
worker.join
