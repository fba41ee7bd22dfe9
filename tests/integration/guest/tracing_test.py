"""Functions of a running program are traced and let go: who may ask for it, what is refused, and what the
program and its code look like afterwards, however the client ends."""

import json
import os
import pathlib
import platform
import resource
import signal
import subprocess
import unittest

from support import deadline, ports, products, tracing
from support.case import SwiprCase

MODULE_GONE = 7


class TracingTest(SwiprCase):
    def start_chaotic(self, **env):
        self.file = products.target("chaotic_nofp")
        self.functions = tracing.functions(self.file)
        return self.start_target("chaotic_nofp", env=env or None)

    def address_of(self, part):
        """Of the function whose mangled name has this part."""
        found = [address for name, address in self.functions.items() if part in name and ".cold" not in name]
        self.assertEqual(len(set(found)), 1, (part, found))
        return found[0]

    def trace(self, target, *parts, **options):
        functions = [(self.address_of(part), self.file) for part in parts]
        return tracing.Stream(self.socket_of(target.pid), functions, **options)

    def attach(self, target, *parts, **options):
        stream = self.trace(target, *parts, **options)
        for probe in stream.read_answers(len(parts)):
            self.assertEqual((probe.state, probe.text), (tracing.ATTACHED, ""))
        return stream

    def check_calls(self, target, count):
        target.send(f"calls {count}\n")
        self.assertEqual(target.read_line(), "right")

    def wait_until_as_the_file(self, pid):
        deadline.wait_until(lambda: not tracing.changed_code(pid), f"the code of process {pid} is its file's")

    def end(self, target):
        self.assertEqual(tracing.changed_code(target.pid), [])
        finished = target.end()
        self.assertEqual((finished.code, finished.err), (0, ""))

    # Clients.

    def test_calls_are_counted_and_the_code_is_the_files_afterwards(self):
        target = self.start_chaotic()
        self.assertEqual(tracing.changed_code(target.pid), [])
        stream = self.attach(target, "6tripleEl")
        self.assertEqual([path for path, _ in tracing.changed_code(target.pid)], [str(self.file)])
        self.check_calls(target, 12345)
        self.assertEqual(stream.end(), {0: 12345})
        self.assertTrue(stream.has_ended())
        self.check_calls(target, 1000)
        self.end(target)

    def test_two_clients_of_one_function(self):
        target = self.start_chaotic()
        first = self.attach(target, "6tripleEl")
        self.check_calls(target, 100)
        second = self.attach(target, "6tripleEl")
        self.check_calls(target, 10)
        self.assertEqual(second.end(), {0: 10})
        self.check_calls(target, 1)
        self.assertEqual(first.end(), {0: 111})
        self.end(target)

    def test_a_client_that_vanishes(self):
        target = self.start_chaotic()
        for wait_for_answers in (False, True) * 10:  # the last one has begun when the file is compared
            stream = self.trace(target, "6tripleEl", "7recurseEl", "7rethrowEl")
            if wait_for_answers:
                stream.read_answers(3)
            stream.close()
        self.wait_until_as_the_file(target.pid)
        self.check_calls(target, 1000)
        self.end(target)

    def test_a_client_that_is_killed(self):
        target = self.start_chaotic()
        for number in (signal.SIGKILL, signal.SIGTERM):
            running = self.start_swipr("latency", "--pid", target.pid, "swipr::trace::triple", "-i", "20ms", "--json")
            running.read_line()
            self.assertNotEqual(tracing.changed_code(target.pid), [])
            running.signal(number)
            running.wait()
            self.wait_until_as_the_file(target.pid)
        self.check_calls(target, 1000)
        self.end(target)

    def test_a_client_that_is_stopped(self):
        target = self.start_chaotic()
        running = self.start_swipr("latency", "--pid", target.pid, "swipr::trace::triple", "-i", "20ms", "--json")
        running.read_line()
        running.signal(signal.SIGSTOP)
        self.wait_until_as_the_file(target.pid)
        running.signal(signal.SIGCONT)
        running.process.communicate()
        self.assertIn("has not read anything for 5 seconds", running.err())
        self.end(target)

    def test_the_log_tells_who_traces_what(self):
        log = self.folder / "log"
        target = self.start_chaotic(SWIPR_LOG=str(log))
        stream = self.attach(target, "6tripleEl")
        stream.end()
        self.assertRegex(log.read_text(), r"\dZ .*a function is traced: 0x[0-9a-f]+ for process \d+ of user \d+")
        self.end(target)

    # Refusals.

    def request(self, place, **fields):
        return super().request(place, "POST", "/v1/record", json.dumps({"duration": "10 ms", **fields}))

    def test_who_may(self):
        target = self.start_chaotic(SWIPR_TRACE="0")
        answer = self.request(self.socket_of(target.pid), probes="0x1000 path /x")
        self.assertEqual(answer.status, 403)
        self.assertIn("SWIPR_TRACE forbids", answer.text)
        self.end(target)
        holder = ports.reserve_port()
        self.addCleanup(holder.close)
        port = ports.port_of(holder)
        target = self.start_target("chaotic_nofp", env={"SWIPR_SERVER_URL": f"http://127.0.0.1:{port}"})
        self.wait_for_socket(target.pid)
        answer = self.request(f"127.0.0.1:{port}", probes="0x1000 path /x")
        self.assertEqual(answer.status, 403)
        self.assertIn("over the UNIX socket only", answer.text)
        self.end(target)

    def test_requests_that_are_damaged(self):
        target = self.start_chaotic()
        place = self.socket_of(target.pid)
        for fields, words in (({"probes": ""}, "must have lines"), ({"probes": 1}, "must be a string"),
                              ({"probes": "0x1 build-id 0"}, "must have lines"),
                              ({"probes": "0x1 path /x\n" * 33}, "32 lines at most"),
                              ({"probes": "0x1 path /x", "latencyInterval": "1 ms"}, "from \"10 ms\""),
                              ({"sampling": 1}, "must be true or false")):
            answer = self.request(place, **fields)
            self.assertEqual(answer.status, 400, fields)
            self.assertIn(words, answer.text)
        self.end(target)

    def test_what_is_refused(self):
        target = self.start_chaotic()
        libc, = [path for path in tracing.mapped_files(target.pid) if pathlib.Path(path).name.startswith("libc.so")]
        loader, = [path for path in tracing.mapped_files(target.pid) if "ld-linux" in path]
        unwinder, = [path for path in tracing.mapped_files(target.pid) if "libgcc_s" in path]
        symbols = {path: tracing.functions(path, dynamic=True) for path in (libc, loader, unwinder)}
        own = tracing.functions(self.preload, dynamic=True)
        moved = [address for name, address in self.functions.items() if name.endswith("rethrowEl.cold")]
        self.assertEqual(len(moved), platform.machine() == "x86_64")  # aarch64's compiler moves nothing out of it
        wanted = [
            (self.address_of("6tripleEl") + 1, self.file, "begins there"),
            *((address, self.file, "begins there") for address in moved),
            (symbols[libc]["setjmp"], libc, ""), (symbols[libc]["dlsym"], libc, "depend on it"),
            (symbols[libc]["vfork"], libc, "depend on it"), (symbols[libc]["clone"], libc, "depend on it"),
            (symbols[libc]["sched_yield"], libc, ""), (symbols[libc]["getpid"], libc, ""),
            (symbols[libc]["sigfillset"], libc, "signal handler"),
            (symbols[loader]["__tls_get_addr"], loader, "depend on it"),
            (symbols[unwinder]["_Unwind_RaiseException"], unwinder, "depend on it"),
            (own["dlclose"], self.preload, "of swipr"),
            (0x1000, products.target("calls_nofp"), "has not mapped this file"),
        ]
        stream = tracing.Stream(self.socket_of(target.pid), [(address, path) for address, path, _ in wanted])
        for probe, (address, path, text) in zip(stream.read_answers(len(wanted)), wanted):
            self.assertEqual(probe.state, tracing.REFUSED, (hex(address), path))
            self.assertIn(text, probe.text)
        self.assertEqual(tracing.changed_code(target.pid), [])
        stream.end()
        self.end(target)

    # What the program does meanwhile.

    def test_children_of_a_fork(self):
        target = self.start_chaotic()
        stream = self.attach(target, "6tripleEl")
        for _ in range(3):
            target.send("fork\n")
            child = int(target.read_line().split()[1])
            self.check_calls(target, 100_000)  # the child, which answers now
            self.wait_until_as_the_file(child)
            self.check_calls(target, 1000)
            with_client = tracing.Stream(self.wait_for_socket(child), [(self.address_of("6tripleEl"), self.file)])
            self.assertEqual(with_client.read_answers(1)[0].text, "")
            self.check_calls(target, 77)
            self.assertEqual(with_client.end(), {0: 77})
            target.send("end\n")
            self.assertEqual(target.read_line(), "ended 0")
        self.check_calls(target, 5)
        self.assertEqual(stream.end(), {0: 5})
        self.end(target)

    def test_exec(self):
        target = self.start_chaotic()
        stream = self.attach(target, "6tripleEl", "7recurseEl")
        self.check_calls(target, 100)
        target.send("exec\n")
        target.wait_ready()
        stream.end()
        self.wait_for_socket(target.pid)
        self.assertEqual(tracing.changed_code(target.pid), [])
        self.assertEqual(self.attach(target, "6tripleEl").end(), {0: 0})
        self.end(target)

    def test_a_library_that_is_unloaded(self):
        target = self.start_chaotic()
        plugin = products.target("plugin_nofp.so")
        hot = tracing.functions(plugin)["plugin_hot"]
        results = set()
        for _ in range(3):
            target.send(f"load {plugin}\n")
            self.assertEqual(target.read_line(), "loaded")
            stream = tracing.Stream(self.socket_of(target.pid), [(hot, plugin)])
            self.assertEqual(stream.read_answers(1)[0].text, "")
            target.send("plugin\n")
            results.add(target.read_line())
            target.send("unload\n")
            self.assertEqual(target.read_line(), "unloaded")
            _, last = stream.read_until(lambda so_far: len(so_far.probes()) == 2).probes()
            self.assertEqual((last.state, last.reason), (tracing.DETACHED, MODULE_GONE))
            self.assertEqual(stream.end(), {0: 1})
        self.assertEqual(len(results), 1)
        self.end(target)

    def test_a_filter_of_system_calls(self):
        target = self.start_chaotic()
        stream = self.attach(target, "6tripleEl")
        target.send("confine\n")
        self.assertEqual(target.read_line(), "0")
        self.assertEqual(tracing.changed_code(target.pid), [])
        stream.close()
        self.check_calls(target, 1000)
        self.assertEqual(target.end().code, 0)

    def test_memory_that_must_not_be_executable(self):
        deny = ("import ctypes, os, sys\n"
                "ok = ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) == 0\n"  # PR_SET_MDWE, which execve resets not
                "print('denied' if ok else 'unknown', flush=True)\n"
                "os.execv(sys.argv[1], sys.argv[1:])\n")
        self.file = products.target("chaotic_nofp")
        self.functions = tracing.functions(self.file)
        target = self.start("/usr/bin/python3", "-c", deny, self.file, env={"LD_PRELOAD": str(self.preload)})
        if target.read_line() == "unknown":
            self.skipTest("the kernel has no PR_SET_MDWE")
        target.wait_ready()
        self.wait_for_socket(target.pid)
        stream = self.trace(target, "6tripleEl")
        probe, = stream.read_answers(1)
        stream.end()
        self.assertEqual(probe.state, tracing.REFUSED)
        self.assertIn("refuses to make code writable", probe.text)
        self.check_calls(target, 10)
        self.end(target)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_real_time_thread(self):
        target = self.start_chaotic()
        os.sched_setscheduler(target.pid, os.SCHED_FIFO, os.sched_param(1))
        stream = self.trace(target, "6tripleEl")
        probe, = stream.read_answers(1)
        if platform.machine() == "aarch64":  # no thread waits there
            self.assertEqual(probe.state, tracing.ATTACHED, probe)
            self.check_calls(target, 100)
            self.assertEqual(stream.end(), {0: 100})
        else:
            self.assertEqual(probe.state, tracing.REFUSED)
            self.assertEqual(probe.text, f"thread {target.pid} has a real-time scheduling policy")
            stream.close()
        self.check_calls(target, 100)
        os.sched_setscheduler(target.pid, os.SCHED_OTHER, os.sched_param(0))
        stream = self.attach(target, "6tripleEl")
        self.check_calls(target, 100)
        self.assertEqual(stream.end(), {0: 100})
        self.end(target)

    def test_low_memory_in_the_middle_of_an_attach(self):
        target = self.start_chaotic()
        tables = resource.prlimit(target.pid, resource.RLIMIT_AS)
        outcomes = set()
        for mebibytes in range(0, 41):
            used = int(pathlib.Path(f"/proc/{target.pid}/statm").read_text().split()[0]) * resource.getpagesize()
            resource.prlimit(target.pid, resource.RLIMIT_AS, (used + (mebibytes << 20), tables[1]))
            try:
                stream = self.trace(target, "6tripleEl", slower="1 ns", threads=True)
                probe, = stream.read_answers(1)
                outcomes.add(probe.state)
                stream.close()
            except (AssertionError, OSError):  # no memory for a recording, or for the connection
                outcomes.add(None)
            self.check_calls(target, 100)
            resource.prlimit(target.pid, resource.RLIMIT_AS, tables)
            self.wait_until_as_the_file(target.pid)
        self.assertIn(tracing.ATTACHED, outcomes)
        self.assertGreaterEqual(len(outcomes), 2, outcomes)
        stream = self.attach(target, "6tripleEl")
        self.check_calls(target, 100)
        self.assertEqual(stream.end(), {0: 100})
        self.end(target)

    def test_a_leaf_that_is_called_all_the_time(self):
        target = self.start_chaotic()
        stream = self.attach(target, "6tripleEl", overhead="2%")
        target.send("hot 300\n")
        first, last = stream.read_until(lambda so_far: len(so_far.probes()) == 2).probes()
        self.assertIn("cost more than --max-overhead", last.text)
        self.assertEqual(tracing.changed_code(target.pid), [])
        self.assertGreater(int(target.read_line()), 0)
        stream.end()
        target.send("wrong\n")
        self.assertEqual(target.read_line().split()[1], "0")
        self.end(target)


if __name__ == "__main__":
    unittest.main()
