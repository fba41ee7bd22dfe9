"""One thread whose functions use 70, 20 and 10 % of its CPU time. Commands on standard input, an answer line each:
mark: "<units of work> <CPU ns in seventy> <in twenty> <in ten>" """
import sys
import threading
import time

used = {"seventy": 0, "twenty": 0, "ten": 0}
units = 0
ended = False


def spin():
    value = 1
    for number in range(250):
        value = value * 31 % 65521 + number


def chain(depth):
    if depth == 0:
        spin()
    else:
        chain(depth - 1)


def burn(name, count):
    global units
    begin = time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)
    for _ in range(count):
        chain(8)
        units += 1
    used[name] += time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID) - begin


def seventy():
    burn("seventy", 70)


def twenty():
    burn("twenty", 20)


def ten():
    burn("ten", 10)


def work():
    while not ended:
        seventy()
        twenty()
        ten()


worker = threading.Thread(target=work)
worker.start()
print("ready", flush=True)
while sys.stdin.readline():
    print(units, *used.values(), flush=True)
ended = True
worker.join()
