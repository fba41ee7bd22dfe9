"""Servers under load: all answers are correct, and the stored data is consistent."""

import http.client
import os
import re
import signal
import threading

from soak.world import WAIT_SECONDS
from support.deadline import wait_until
from support.ports import port_of, reserve_port


def _end(world, process, number=signal.SIGTERM):
    """The signal goes to the server itself."""
    os.kill(world.pid_of(process), number)
    return world.finish(process, 60).code


def redis(requests):
    """Counters count, lists have as many entries as were pushed, and what a forked child saves is read back the same."""
    def run(world):
        place = world.work / "redis.sock"

        def start():
            server = world.start("redis-server", "--port", 0, "--unixsocket", place, "--save", "", "--dir", world.work,
                                 "--enable-debug-command", "yes", "--daemonize", "no")
            wait_until(lambda: ask("ping") == "PONG", "redis-server", WAIT_SECONDS)
            return server

        def ask(*words):
            return world.run("redis-cli", "-s", place, *words, recorded=False).out.decode().strip()

        server = start()
        load = world.run("redis-benchmark", "-s", place, "-q", "-n", requests, "-P", 8, "-c", 20, "-t",
                         "ping,set,get,incr,lpush,sadd,hset,zadd", recorded=False)
        saving = ask("bgsave")
        world.run("redis-benchmark", "-s", place, "-q", "-n", requests, "-P", 4, "-t", "incr,lpush", recorded=False)
        wait_until(lambda: "rdb_bgsave_in_progress:0" in ask("info", "persistence"), "the forked child's file", WAIT_SECONDS)
        results = {
            "benchmark": load.code, "bgsave": saving, "counter": ask("get", "counter:__rand_int__"), "list": ask("llen", "mylist"),
            "saved": re.search(r"rdb_last_bgsave_status:(\w+)", ask("info", "persistence")).group(1), "save": ask("save"),
        }
        before = ask("debug", "digest")
        results["end"] = _end(world, server)
        server = start()
        results["read back the same"] = ask("debug", "digest") == before
        return {**results, "second end": _end(world, server)}
    return run


def _fetch_all(port, path, count, wrong, expected):
    """A connection for each request: none may be refused or cut, also while workers are replaced."""
    for _ in range(count):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", path, headers={"Connection": "close"})
            answer = connection.getresponse()
            if (answer.status, answer.read()) != (200, expected):
                wrong.append("another answer")
            connection.close()
        except (OSError, http.client.HTTPException) as error:
            wrong.append(type(error).__name__)


def nginx(count):
    """Workers are replaced three times while clients come and go."""
    def run(world):
        with reserve_port() as holder:
            return _nginx(world, port_of(holder), count)
    return run


def _nginx(world, port, count):
    expected = b"hello\n" * 5000
    (world.work / "index.html").write_bytes(expected)
    config = world.work / "nginx.conf"
    folders = "".join(f"{kind}_temp_path {world.work}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config.write_text(f"""user root root; daemon off; master_process on; worker_processes 2; pid {world.work}/pid; error_log {world.work}/error.log;
        events {{ worker_connections 128; }} http {{ access_log off; {folders} sendfile on;
        server {{ listen 127.0.0.1:{port} backlog=511; root {world.work}; }} }}\n""")
    master = world.start("/usr/sbin/nginx", "-p", world.work, "-e", world.work / "error.log", "-c", config)
    wait_until((world.work / "pid").exists, "nginx", WAIT_SECONDS)
    load = world.start("wrk", "-t1", "-c8", "-d3s", f"http://127.0.0.1:{port}/index.html", recorded=False)
    wrong = []
    clients = [threading.Thread(target=_fetch_all, args=(port, "/index.html", count, wrong, expected)) for _ in range(2)]
    for client in clients:
        client.start()
    reload = [world.run("/usr/sbin/nginx", "-p", world.work, "-e", world.work / "error.log", "-c", config, "-s", "reload", recorded=False).code
              for _ in range(3)]
    for client in clients:
        client.join()
    told = world.finish(load).out.decode()
    return {"wrong answers": sorted(set(wrong)), "reloads": reload, "not 200 for wrk": "Non-2xx" in told,
            "end": _end(world, master, signal.SIGQUIT),
            "log": [line for line in (world.work / "error.log").read_text().splitlines() if re.search(r"\[(alert|crit|emerg)\]", line)]}


POSTGRES = "/usr/lib/postgresql/15/bin"


def postgres(transactions):
    """A process for each connection, a tenth as many with one for each transaction, parallel workers; afterwards the sums of TPC-B agree."""
    def run(world):
        world.give_to("postgres")
        data = world.work / "data"

        def plainly(program, *arguments, **options):
            return world.run(f"{POSTGRES}/{program}", *arguments, user="postgres", recorded=False, **options)

        plainly("initdb", "-D", data, "-A", "trust", "--no-sync")
        server = world.start(f"{POSTGRES}/postgres", "-D", data, "-k", world.work, "-h", "", "-c", "fsync=off", "-c", "max_parallel_workers=4",
                             user="postgres")

        def is_ready():  # who asks the server itself too early gets a line into its log
            status = data / "postmaster.pid"
            return status.exists() and "ready" in [line.strip() for line in status.read_text().splitlines()[7:]]

        wait_until(is_ready, "postgres", WAIT_SECONDS)
        place = ("-h", world.work, "-U", "postgres")
        filled = plainly("pgbench", *place, "-i", "-q", "-s", 2, "postgres").code
        told = [plainly("pgbench", *place, "-n", "-c", 4, "-j", 1, "-t", count, *way, "postgres", seconds=300)
                for count, way in ((transactions // 10, ("-C",)), (transactions, ("-M", "prepared")))]

        def ask(query):
            return plainly("psql", *place, "-Atc", query, "postgres").out.decode().strip()

        parallel = ("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
                    " SELECT count(*), sum(aid) FROM pgbench_accounts")
        sums = " = ".join(f"(SELECT sum({column}) FROM pgbench_{table})"
                          for column, table in (("abalance", "accounts"), ("tbalance", "tellers")))
        results = {
            "filled": filled, "pgbench": [ended.code for ended in told],
            "transactions": [re.findall(rb"processed: (.*)", ended.out) for ended in told],
            "sums agree": ask(f"SELECT {sums} AND (SELECT sum(delta) FROM pgbench_history) = (SELECT sum(bbalance) FROM pgbench_branches)"),
            "parallel": ask(parallel), "time-out": ask("SET statement_timeout = 100; SELECT pg_sleep(20)"),
            "sleep": ask("SELECT pg_sleep(1) IS NULL"),
        }
        # It lets clients end: the process of one that has just gone may not have had a CPU yet, and would log its end.
        os.kill(world.pid_of(server), signal.SIGTERM)
        ended = world.finish(server, 60)
        log = re.findall(r"(?:PANIC|FATAL|terminated by signal|crash).*", ended.err.decode(errors="replace"))
        return {**results, "end": ended.code, "log": log}
    return run

