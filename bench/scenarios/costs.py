"""Cost of the system calls of a tick."""
import subprocess

from scenarios.guest import BUILD, run

COLUMNS = ("what", "1 blocked thread", "10,000")
NAMES = {"clock_of_a_thread": "CPU clock of another thread",
         "file_syscall": "`/proc/self/task/T/syscall`, opened, read and closed",
         "file_schedstat": "`…/schedstat`, the same", "file_stat": "`…/stat`", "file_comm": "`…/comm`",
         "memory_8_bytes": "8 bytes through `/proc/self/mem`", "memory_8_kib": "8 KiB through it",
         "disposition": "disposition of a signal",
         "number_of_threads": "number of threads (links of `/proc/self/task`)",
         "list_of_threads": "list of the threads"}


def measure(threads):
    output = run(BUILD / "bench/bench_kernel_costs", threads, stdout=subprocess.PIPE).stdout
    return dict(line.split() for line in output.splitlines())


def table():
    """Rows (what, with one thread, with many), in microseconds."""
    few, many = measure(1), measure(10_000)
    return [(text, *(f"{int(found[name]) / 1000:.2f} µs" for found in (few, many)))
            for name, text in NAMES.items()]
