"""Debian's programs under load: stacks are complete, and hot functions have names."""

import os
import pathlib
import re
import signal
import socket
import unittest

from support import deadline, profiles, raw, repetition
from support.case import SwiprCase
from support.ports import port_of, reserve_port

NGINX = "/usr/sbin/nginx"


class RealProgramCase(SwiprCase):
    def served(self, record):
        """The first recording that missed at most a tenth of its ticks. Where the control thread gets
        no CPU for more of them, the program gets none either, and says little of itself."""

        def taken():
            path = record()
            sources = raw.read(path.read_bytes()).values()
            missed = sum(source.totals.get("ticks_missed", 0) for source in sources)
            return 10 * missed <= sum(source.totals["ticks"] for source in sources) and path

        return deadline.wait_until(taken, "a recording with its ticks", repetition.DEADLINE_SECONDS)

    def assert_complete(self, path, per_cent=99):
        """So many of the stacks that were walked reached their root, and nothing was lost."""
        for source in raw.read(path.read_bytes()).values():
            totals = source.totals
            self.assertGreater(totals["stacks_walked"], 0, totals)
            self.assertGreaterEqual(100 * totals["stacks_rooted"], per_cent * totals["stacks_walked"], totals)
            self.assertEqual(totals["samples_dropped"], 0, totals)
            self.assertLessEqual(100 * totals["stacks_missing"], totals["samples"], totals)

    def convert_all(self, path):
        """The stacks by CPU time, after every format was seen to hold the same functions. perf and pprof have a
        field for the file of a function of Python. Collapsed stacks leave out what weighs nothing: an entry may
        have time and no tick, or a tick and no time."""
        names = {}
        for fmt in ("collapsed", "perf", "pprof"):
            stacks = [s for weight in ("samples", "wall") for s in self.convert(path, fmt, "--weight", weight)]
            names[fmt] = {re.sub(r" \([^()/]*(\.py|>)\)$", "", frame) for s in stacks for frame in s.frames
                          if not frame.startswith("[")}
        self.assertEqual(names["collapsed"], names["pprof"])
        self.assertEqual(names["collapsed"], names["perf"])
        return self.convert(path, "collapsed", "--weight", "cpu")


class PythonTest(RealProgramCase):
    SCRIPT = (
        "import select, sys\n"
        "def work(n):\n"
        "    return sum(i * i for i in range(n))\n"
        "print('ready', flush=True)\n"
        "while not select.select([sys.stdin], [], [], 0)[0]:\n"
        "    work(20000)\n"
    )

    def test_functions_are_named(self):
        program = self.start("/usr/bin/python3", "-c", self.SCRIPT, preloaded=True)
        program.wait_ready()
        self.wait_for_socket(program.pid)
        path = self.served(lambda: self.record(program.pid, "--count", 300, "--interval", "2ms"))
        self.assertEqual(program.end().code, 0)
        self.assert_complete(path)
        stacks = self.convert_all(path)
        self.assertGreater(profiles.share(stacks, "work (<string>)"), 90)
        self.assertGreater(profiles.share(stacks, "Py_BytesMain"), 90)


class RedisTest(RealProgramCase):
    def test_event_loop_and_commands_are_named(self):
        place = self.folder / "redis.sock"
        server = self.start(
            "redis-server", "--port", 0, "--unixsocket", place, "--save", "", "--dir", self.folder,
            preloaded=True,
        )
        deadline.wait_until(place.exists, "redis-server")
        self.wait_for_socket(server.pid)
        load = self.start("redis-benchmark", "-s", place, "-l", "-q", "-P", 64, "-t", "set,get,lpush")
        deadline.wait_until(lambda: os.read(load.process.stdout.fileno(), 4096), "requests")
        path = self.served(lambda: self.record(server.pid, "--count", 300, "--interval", "2ms"))
        load.process.stdout.close()
        load.signal(signal.SIGKILL)
        load.process.wait()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait().code, 0)
        self.assert_complete(path)
        stacks = self.convert_all(path)
        self.assertGreater(profiles.share(stacks, "aeMain"), 90)
        for function in ("processCommand", "call", "readQueryFromClient"):
            self.assertTrue(profiles.has_function(stacks, f"^{function}$"), function)
        waiting = self.convert(path, "collapsed", "--weight", "wall")
        self.assertTrue(profiles.has_function(waiting, "pthread_cond_wait"), "background threads")


class NginxTest(RealProgramCase):
    def start_nginx(self, user_line):
        holder = reserve_port()
        self.addCleanup(holder.close)
        port = port_of(holder)
        (self.folder / "index.html").write_text("hello\n" * 200)
        config = self.folder / "nginx.conf"
        config.write_text(
            f"""{user_line}
            daemon off; master_process on; worker_processes 1;
            pid {self.folder}/nginx.pid; error_log {self.folder}/error.log;
            events {{ worker_connections 64; }}
            http {{
              access_log off;
              client_body_temp_path {self.folder}/a; proxy_temp_path {self.folder}/b;
              fastcgi_temp_path {self.folder}/c; uwsgi_temp_path {self.folder}/d;
              scgi_temp_path {self.folder}/e;
              server {{ listen 127.0.0.1:{port}; root {self.folder}; gzip on; gzip_min_length 1; }}
            }}
            """
        )
        master = self.start(NGINX, "-p", self.folder, "-e", self.folder / "error.log", "-c", config, preloaded=True)

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        deadline.wait_until(answers, "nginx")
        children = pathlib.Path(f"/proc/{master.pid}/task/{master.pid}/children")
        (worker,) = deadline.wait_until(lambda: children.read_text().split(), "nginx's worker")
        return master, int(worker), port

    def check_worker(self, user_line):
        master, worker, port = self.start_nginx(user_line)
        self.wait_for_socket(worker)
        load = self.start("wrk", "-t1", "-c4", "-d60s", f"http://127.0.0.1:{port}/index.html", stdin=None)
        path = self.served(lambda: self.record(worker, "--count", 400, "--interval", "2ms"))
        load.signal(signal.SIGKILL)
        load.process.wait()
        master.signal(signal.SIGTERM)
        self.assertEqual(master.wait().code, 0)
        self.assert_complete(path)
        stacks = self.convert_all(path)
        self.assertGreater(profiles.share(stacks, "ngx_process_events_and_timers"), 80)
        self.assertTrue(profiles.has_function(stacks, "^ngx_http_"))
        self.assertTrue(profiles.has_function(stacks, "^ngx_master_process_cycle$"))

    def test_worker_is_recorded_and_named(self):
        self.check_worker("user root root;" if os.geteuid() == 0 else "")

    @unittest.skipUnless(os.geteuid() == 0, "only root's nginx changes its workers' user")
    def test_worker_that_gave_up_root(self):
        self.folder.chmod(0o755)
        self.check_worker("user nobody nogroup;")


class SqliteTest(RealProgramCase):
    QUERY = (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000000)"
        " SELECT sum(x % 7) FROM c;"
    )

    def test_step_is_named(self):
        def record():
            path = self.folder / "sqlite.swipr"
            path.unlink(missing_ok=True)
            finished = self.swipr(
                "record", "-o", path, "--interval", "2ms", "--", "sqlite3", ":memory:", self.QUERY
            )
            self.assertEqual(finished.out.strip(), b"5999997")
            return path

        path = self.served(record)
        self.assert_complete(path)
        stacks = self.convert_all(path)
        self.assertGreater(profiles.share(stacks, "sqlite3_step"), 80)


if __name__ == "__main__":
    unittest.main()
