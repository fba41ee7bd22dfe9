# Methods whose names can be checked: each one called rNUMBER and letters is called by the one with a letter less.
# usage: stress.rb ordinary|hostile. Ends with its input; with code 0 if all calls returned what they should.
RESULT = 300
# How a method calls the next one, which is the only one that it calls.
WAYS = ['%s', '[1].map { %s }[0]', '[2].sum { %s }', '1.then { %s }', 'proc { %s }.call', 'Fiber.new { %s }.resume',
        'begin; raise Found.new(%s); rescue Found => found; found.value; end', '[1].each_slice(1).map { %s }[0]',
        'send(:%s)', 'eval("%s")', '[1].each_with_object([]) { |x, all| all << %s }[0]', 'begin; %s; ensure; 1; end',
        'yields { %s }', 'Enumerator.new { |all| all << %s }.next', 'catch(:found) { throw :found, %s }']
$numbers = 0
$lock = Mutex.new

class Found < StandardError
  attr_reader :value
  def initialize(value)
    @value = value
  end
end

class Family
  def yields
    yield
  end

  def leaf(count)
    value = 0
    value += 1 while value < count
    value
  end
end

def text_of(name, depth)
  bodies = %w[a b c].map { |letter| depth == 0 ? 'leaf(300)' : WAYS.sample % (name + letter) }
  below = depth == 0 ? '' : %w[a b c].map { |letter| text_of(name + letter, depth - 1) }.join
  "def #{name}\n  case rand(3)\n  when 0 then #{bodies[0]}\n  when 1 then #{bodies[1]}\n  else #{bodies[2]}\n  end\nend\n#{below}"
end

# A new family of methods: an object that has them, and the name of the first one.
def made(depth)
  base = "r#{$lock.synchronize { $numbers += 1 } % 2000}"
  family = Class.new(Family)
  family.class_eval(text_of(base, depth), "#{base}.rb")
  [family.new, base.to_sym]
end

def check(result)
  return if result == RESULT
  warn "wrong result #{result}"
  exit!(3)
end

def ordinary
  family, first = made(4)
  check(family.send(first)) until $ended
end

def deep(depth)
  depth == 0 ? 0 : 1 + deep(depth - 1)
end

def storm
  until $ended
    family, first = made(2)
    rand(100).times { check(family.send(first)) }
    deep(rand(2000))
    begin
      deep(1_000_000) if rand < 0.01
    rescue SystemStackError
      1
    end
    fiber = Fiber.new { 3.times { check(family.send(first)); Fiber.yield } }
    rand(4).times { fiber.resume }
    Array.new(2000) { |number| "text #{number}" }
    GC.start if rand < 0.02
    GC.compact if GC.respond_to?(:compact) && rand < 0.005
  end
end

def one_family
  family, first = made(1)
  5.times { check(family.send(first)) }
end

def threads_come_and_go
  Array.new(8) { Thread.new { one_family } }.each(&:join) until $ended
end

work = ARGV[0] == 'hostile' ? %i[storm storm threads_come_and_go] : %i[ordinary ordinary]
Thread.abort_on_exception = true
threads = work.map { |name| Thread.new { send(name) } }
puts 'ready'
$stdout.flush
$stdin.read
$ended = true
threads.each(&:join)
puts 'whole'
