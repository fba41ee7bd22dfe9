"""Two threads that only compute: one of them always waits for the GIL. Ends with its input."""
import sys
import threading

ended = False


def spin(count):
    for _ in range(count):
        pass


def work():
    while not ended:
        spin(10000)


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
print("ready", flush=True)
while sys.stdin.readline():
    print(flush=True)
ended = True
for thread in threads:
    thread.join()
