"""The HTTP server in the program: the documented curl lines, and answers to malicious clients.

Longer than most: one file is one entry of ctest, and confined_test runs its cases again."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
import unittest

from support import deadline, products, profiles, raw
from support.case import SwiprCase
from support.ports import port_of, reserve_port


class HttpCase(SwiprCase):
    def curl(self, *arguments):
        finished = self.start("curl", "-sS", "--max-time", 60, *arguments, stdin=None).end(70)
        self.assertEqual(finished.code, 0, repr(finished))
        return finished.out

    def check_curl_lines(self, build):
        target = self.start_target(f"shares_{build}")
        place = self.socket_of(target.pid)
        with self.subTest("perf is the default"):
            out = self.curl(
                "--unix-socket", place, "-d", '{"numberOfSamples":10,"timeInterval":"10 ms"}', "http://localhost/sample"
            )
            stacks = profiles.parse_perf(out)
            self.assertTrue(profiles.has_function(stacks, "^seventy_percent$"))
            self.assertEqual({stack.pid for stack in stacks}, {target.pid})
        with self.subTest("pprof profile"):
            start = time.monotonic()
            out = self.curl("--unix-socket", place, "http://localhost/debug/pprof/profile?seconds=1")
            around = time.monotonic() - start
            pprof = profiles.Pprof(out)
            self.assertTrue(profiles.has_function(pprof.stacks(), "^seventy_percent$"))
            # From the first tick to the last of 100 a second, and within the request.
            self.assertGreater(pprof.duration_nanos / 1e9, 0.97)
            self.assertLess(pprof.duration_nanos / 1e9, around)

    def tcp_target(self, env=None, host="127.0.0.1"):
        holder = reserve_port(host)
        self.addCleanup(holder.close)
        port = port_of(holder)
        target = self.start_target("shares_nofp", env={"SWIPR_SERVER_URL": f"http://{host}:{port}", **(env or {})})

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        deadline.wait_until(listens, "the TCP port")
        return target, f"127.0.0.1:{port}"


class CurlTest(HttpCase):
    def test_the_lines_of_the_documentation(self):
        self.check_curl_lines("nofp")

    def test_tcp_answers_as_well(self):
        _, place = self.tcp_target()
        stacks = profiles.parse_pprof(self.curl(f"http://{place}/debug/pprof/profile?seconds=1"))
        self.assertTrue(profiles.has_function(stacks, "^seventy_percent$"))

    def test_go_tool_pprof_fetches_a_profile(self):
        _, place = self.tcp_target()
        # Since Go 1.24 the tool is compiled on first use: once for the user, not in each test's own cache.
        cache = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()
        settings = {"PPROF_TMPDIR": str(self.folder), "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOCACHE": cache}
        running = self.start(
            "go", "tool", "pprof", "-top", "-sample_index=cpu", f"http://{place}/debug/pprof/profile?seconds=1",
            env=settings,
        )
        finished = running.end(180)
        self.assertEqual(finished.code, 0, repr(finished))
        top = finished.out.decode()
        self.assertRegex(top, r"seventy_percent")
        self.assertRegex(top, r"Type: cpu")

    def test_pages_of_other_sites_are_refused_over_tcp(self):
        _, place = self.tcp_target()
        body = json.dumps({"numberOfSamples": 2, "timeInterval": "1 ms", "format": "raw"})
        for headers, status in (
            ({}, 200),
            ({"Origin": f"http://{place}"}, 200),
            ({"Origin": "http://example.org"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://localhost:1"}, 403),
            ({"Host": "example.org"}, 403),
            ({"Host": "example.org", "Origin": "http://example.org"}, 403),
        ):
            with self.subTest(headers=headers):
                answer = self.request(place, "POST", "/sample", body=body, headers=headers)
                self.assertEqual(answer.status, status, answer.text)
                if status == 403:
                    self.assertRegex(answer.text, "^the (Host|Origin) header .*\n$")

    def test_remote_clients_need_the_token(self):
        token = "correct horse battery"
        settings = {"SWIPR_SERVER_ALLOW_REMOTE": "1", "SWIPR_SERVER_TOKEN": token}
        target, place = self.tcp_target(settings, host="0.0.0.0")
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer " + token[:-1]}, 401),
            ({"Authorization": "Bearer " + token + "x"}, 401),
            ({"Authorization": "Basic " + token}, 401),
            ({"Authorization": "Bearer " + token}, 200),
        ):
            for method, path in (("GET", "/v1/info"), ("GET", "/"), ("POST", "/v1/record")):
                with self.subTest(headers=headers, path=path):
                    body = '{"numberOfSamples":1,"timeInterval":"1 ms"}' if method == "POST" else None
                    answer = self.request(place, method, path, body=body, headers=headers)
                    self.assertEqual(answer.status, status, answer.text)
                    if status == 401:
                        self.assertEqual(answer.headers["www-authenticate"], "Bearer")
        # The UNIX socket does not require a token.
        self.assertEqual(self.request(self.wait_for_socket(target.pid), "GET", "/v1/info").status, 200)

    def test_unix_urls_and_patterns(self):
        place = self.folder / "here.sock"
        for variable, url in (
            ("SWIPR_SERVER_URL", f"unix://{place}"),
            ("SWIPR_SERVER_URL", "http+unix://" + str(place).replace("/", "%2F")),
            ("PROFILE_RECORDER_SERVER_URL", f"unix://{place}"),
            ("SWIPR_SERVER_URL_PATTERN", f"unix://{self.folder}/{{PID}}.here"),
        ):
            with self.subTest(variable=variable, url=url):
                # start_target waits for the default socket unless told so by this name.
                target = self.start(self.target_path("blocked_nofp"), env={variable: url}, preloaded=True)
                target.wait_ready()
                where = self.folder / f"{target.pid}.here" if "PATTERN" in variable else place
                deadline.wait_until(where.exists, f"the socket {where}")
                info = self.request(where, "GET", "/v1/info").json()
                self.assertEqual(info["pid"], target.pid)
                target.end()
                where.unlink(missing_ok=True)


class RoutesTest(HttpCase):
    def setUp(self):
        super().setUp()
        self.running = self.start_target("shares_nofp")
        self.place = self.socket_of(self.running.pid)

    def test_info(self):
        info = self.request(self.place, "GET", "/v1/info").json()
        self.assertEqual(info["pid"], self.running.pid)
        self.assertIn("shares_nofp", json.dumps(info["command"]))
        self.assertGreaterEqual(int(info["threads"]), 3)
        self.assertIn("version", info)

    def test_help_names_this_very_socket(self):
        answer = self.request(self.place, "GET", "/")
        self.assertEqual(answer.status, 200)
        self.assertIn("curl", answer.text)
        self.assertIn(str(self.place), answer.text)

    def test_unknown_route(self):
        answer = self.request(self.place, "GET", "/no/such/route")
        self.assertEqual(answer.status, 404)
        self.assertIn("curl", answer.text)

    def test_wrong_method(self):
        for method, path in (("GET", "/sample"), ("DELETE", "/v1/record"), ("POST", "/v1/info")):
            with self.subTest(method=method, path=path):
                answer = self.request(self.place, method, path)
                self.assertEqual(answer.status, 405)
                self.assertIn("Allow", {name.title() for name in answer.headers})
                if path == "/v1/info":
                    self.assertIn("GET, HEAD", answer.text)

    def test_head_is_get_without_the_body(self):
        for path in ("/", "/v1/info", "/debug/pprof/", "/debug/pprof/cmdline"):
            with self.subTest(path=path):
                wanted = self.request(self.place, "GET", path)
                answer = self.request(self.place, "HEAD", path)
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.body, b"")
                self.assertEqual(answer.headers["content-type"], wanted.headers["content-type"])
                if path != "/v1/info":  # its counters count
                    self.assertEqual(answer.headers, wanted.headers)
        self.assertEqual(self.request(self.place, "HEAD", "/no/such/route").status, 404)
        self.assertEqual(self.request(self.place, "HEAD", "/sample").status, 405)
        self.assertEqual(self.request(self.place, "HEAD", "/debug/pprof/profile?seconds=x").status, 400)

    def test_head_of_a_profile_records_nothing(self):
        def ticks():
            return self.request(self.place, "GET", "/v1/info").json()["counters"]["ticks"]

        before = ticks()
        answer = self.raw_exchange(b"HEAD /debug/pprof/profile?seconds=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertRegex(head, rb"^HTTP/1\.1 200 OK\r\n")
        self.assertEqual(body, b"")
        self.assertNotIn(b"content-length", head.lower())
        self.assertEqual(ticks(), before)

    def test_head_of_a_module_tells_its_size(self):
        program = self.target_path("shares_nofp")
        build_id = products.build_id(program)
        answer = self.request(self.place, "HEAD", f"/v1/modules/{build_id}")
        self.assertEqual(answer.status, 200)
        self.assertEqual(int(answer.headers["content-length"]), os.path.getsize(program))
        self.assertEqual(answer.body, b"")

    def test_formats(self):
        for name, fmt in (
            ("perfSymbolized", "perf"),
            ("perf", "perf"),
            ("pprofSymbolized", "pprof"),
            ("pprof", "pprof"),
            ("flamegraphCollapsedSymbolized", "collapsed"),
            ("collapsed", "collapsed"),
        ):
            with self.subTest(format=name):
                body = json.dumps({"numberOfSamples": 20, "timeInterval": "2 ms", "format": name})
                answers = []

                def is_named(body=body, fmt=fmt, answers=answers):  # unless the target did not get a CPU
                    answers.append(self.request(self.place, "POST", "/sample", body=body))
                    self.assertEqual(answers[-1].status, 200, answers[-1].text[:200])
                    return profiles.has_function(profiles.parse(answers[-1].body, fmt), "^seventy_percent$")

                deadline.wait_until(is_named, "samples of the busiest function")
                answer = answers[-1]
                disposition = {k.lower(): v for k, v in answer.headers.items()}.get("content-disposition", "")
                self.assertIn(f"samples-{self.running.pid}-", disposition)

    def test_routes_of_the_forerunner(self):
        body = json.dumps({"numberOfSamples": 5, "timeInterval": "2 ms"})
        for path in ("/sample", "/samples", "/"):
            with self.subTest(path=path):
                self.assertEqual(self.request(self.place, "POST", path, body=body).status, 200)

    def test_raw_stream(self):
        body = json.dumps({"numberOfSamples": 20, "timeInterval": "2 ms", "format": "raw"})
        for path in ("/sample", "/v1/record"):
            with self.subTest(path=path):
                sent = body if path == "/sample" else json.dumps({"numberOfSamples": 20, "timeInterval": "2 ms"})
                answer = self.request(self.place, "POST", path, body=sent)
                self.assertEqual(answer.status, 200)
                (source,) = raw.read(answer.body).values()
                self.assertTrue(source.ended)
                self.assertEqual(source.pid, self.running.pid)

    def test_pprof_index_and_command_line(self):
        self.assertEqual(self.request(self.place, "GET", "/debug/pprof/").status, 200)
        answer = self.request(self.place, "GET", "/debug/pprof/cmdline")
        self.assertEqual(answer.status, 200)
        self.assertIn("shares_nofp", answer.text)

    def test_wrong_values_name_their_field(self):
        for body, name in (
            ('{"numberOfSamples":"ten"}', "numberOfSamples"),
            ('{"numberOfSamples":0}', "numberOfSamples"),
            ('{"numberOfSamples":-1}', "numberOfSamples"),
            ('{"numberOfSamples":1.5}', "numberOfSamples"),
            ('{"numberOfSamples":[1]}', "numberOfSamples"),
            ('{"timeInterval":"soon"}', "timeInterval"),
            ('{"timeInterval":{}}', "timeInterval"),
            ('{"timeInterval":"0 ms"}', "timeInterval"),
            ('{"timeInterval":"9223372036 s"}', "timeInterval"),
            ('{"numberOfSamples":1000000001}', "numberOfSamples"),
            ('{"format":"jpeg"}', "format"),
            ('{"format":7}', "format"),
        ):
            with self.subTest(body=body):
                answer = self.request(self.place, "POST", "/sample", body=body)
                self.assertEqual(answer.status, 400, answer.text)
                self.assertIn(name, answer.text)
                self.assertEqual(len(answer.text.strip().splitlines()), 1, answer.text)

    def test_durations_that_no_clock_holds_are_refused(self):
        for duration in ("9223372036 s", "18446744073709551615 ns", "1000000 h", "1e9 s"):
            with self.subTest(duration=duration):
                answer = self.request(self.place, "POST", "/v1/record", body=json.dumps({"duration": duration}))
                self.assertEqual(answer.status, 400, answer.text)
                self.assertIn("duration", answer.text)
                self.assertEqual(len(answer.text.strip().splitlines()), 1, answer.text)

    def test_the_largest_request_is_recorded_until_the_client_leaves(self):
        """A billion ticks an hour apart: the product overflows 64 bits of nanoseconds."""
        for limits in ({"numberOfSamples": 10**9, "timeInterval": "1 h"},
                       {"numberOfSamples": 10**9, "timeInterval": "1 h", "duration": "876000 h"}):
            with self.subTest(limits), socket.socket(socket.AF_UNIX) as client:
                client.settimeout(deadline.DEADLINE_SECONDS)
                client.connect(str(self.place))
                body = json.dumps(limits).encode()
                head = b"POST /v1/record HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
                client.sendall(head + body)
                self.assertIn(b" 200 ", client.recv(64))
                others = raw.read(self.request(self.place, "POST", "/v1/record", body='{"numberOfSamples":3,"timeInterval":"20 ms"}').body)
                self.assertEqual([source.ended for source in others.values()], [True])
                client.setblocking(False)
                got = b""
                with contextlib.suppress(BlockingIOError):
                    while more := client.recv(1 << 16):
                        got += more
                    self.fail(f"the recording ended: {got[-200:]!r}")

    def test_wrong_queries_name_their_field(self):
        for query, name in (
            ("seconds=x", "seconds"),
            ("seconds=-1", "seconds"),
            ("seconds=1001", "seconds"),
            ("seconds=1&rate=0", "rate"),
            ("seconds=1&rate=1001", "rate"),
        ):
            with self.subTest(query=query):
                answer = self.request(self.place, "GET", f"/debug/pprof/profile?{query}")
                self.assertEqual(answer.status, 400, answer.text)
                self.assertIn(name, answer.text)

    def test_body_that_is_no_json(self):
        for body in ("hello", "[1,2]", '{"numberOfSamples":', '{"numberOfSamples":1}x', "\x00" * 10):
            with self.subTest(body=body):
                self.assertEqual(self.request(self.place, "POST", "/sample", body=body).status, 400)

    def raw_exchange(self, request):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(deadline.DEADLINE_SECONDS)
            connection.connect(str(self.place))
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before it was read to the end
            answer = b""
            try:
                while more := connection.recv(1 << 16):
                    answer += more
            except ConnectionResetError:
                pass
            return answer

    def assert_alive(self):
        self.assertEqual(self.request(self.place, "GET", "/v1/info").status, 200)

    def test_malformed_requests(self):
        for request in (
            b"nonsense\r\n\r\n",
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"\x00\xff\x00\xff\r\n\r\n",
            b"POST /sample HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
            b"POST /sample HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nno colon here\r\n\r\n",
        ):
            with self.subTest(request=request):
                answer = self.raw_exchange(request)
                self.assertRegex(answer.split(b"\r\n")[0], rb"^HTTP/1\.[01] (4\d\d|505) ")
                self.assert_alive()

    def test_oversized_requests(self):
        for request, codes in (
            (b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n", rb"(400|414|431)"),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n", rb"(400|431)"),
            (
                b"POST /sample HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n" + b"a" * (1 << 20),
                rb"413",
            ),
        ):
            with self.subTest(request=request[:60]):
                answer = self.raw_exchange(request)
                if answer:  # the peer may have reset the connection under the flood
                    self.assertRegex(answer.split(b"\r\n")[0], rb"^HTTP/1\.[01] " + codes)
                self.assert_alive()

    def test_oversized_body_is_refused_by_its_announcement(self):
        answer = self.raw_exchange(b"POST /sample HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        self.assertRegex(answer.split(b"\r\n")[0], rb"^HTTP/1\.[01] 413 ")

    def test_half_a_request_hinders_nobody(self):
        with socket.socket(socket.AF_UNIX) as slow:
            slow.connect(str(self.place))
            slow.settimeout(deadline.DEADLINE_SECONDS)
            slow.sendall(b"POST /sample HTTP/1.1\r\nHost: local")
            self.assert_alive()
            self.assertRegex(slow.recv(1 << 16), rb"^HTTP/1\.1 408 ")  # after ten seconds
        self.assert_alive()

    def test_silent_clients_make_room_for_others(self):
        with contextlib.ExitStack() as stack:
            silent = []
            for _ in range(40):  # more than the 32 that are served at the same time
                client = stack.enter_context(socket.socket(socket.AF_UNIX))
                client.settimeout(deadline.DEADLINE_SECONDS)
                client.connect(str(self.place))
                client.sendall(b"GET / HTTP/1.1\r\nHost: local")
                silent.append(client)
                self.assert_alive()
            # The oldest one was closed, with a message.
            self.assertRegex(silent[0].recv(1 << 16), rb"^HTTP/1\.1 408 ")
            silent[-1].sendall(b"host\r\n\r\n")
            self.assertRegex(silent[-1].recv(1 << 16), rb"^HTTP/1\.1 200 ")

    def test_client_that_hangs_up_ends_its_recording_only(self):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.place))
            body = b'{"timeInterval":"1 ms"}'
            client.sendall(
                b"POST /v1/record HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            self.assertTrue(client.recv(1 << 16))
        self.assert_alive()
        self.convert(self.record(self.running.pid, "--count", 5, "--interval", "1ms"))

    def test_a_client_that_stops_reading_loses_samples_and_nobody_else_does(self):
        target = self.start_target("wanderer_nofp")
        place = self.socket_of(target.pid)
        brisk, seen = self.start_streaming(target.pid, "--interval", "10ms")

        def signals_sent():
            return self.request(place, "GET", "/v1/info").json()["counters"]["signals_sent"]

        with socket.socket(socket.AF_UNIX) as slow:
            slow.settimeout(deadline.DEADLINE_SECONDS)
            slow.connect(str(place))
            body = b'{"timeInterval":"500 us"}'
            slow.sendall(b"POST /v1/record HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            full = signals_sent() + 3500  # each is answered by a stack of its own, of about 2 KB
            brisk_data = [seen]
            reader = threading.Thread(target=lambda: brisk_data.append(brisk.process.stdout.read()))
            reader.start()
            deadline.wait_until(lambda: signals_sent() > full, "more than the buffers hold")
            slow.shutdown(socket.SHUT_WR)
            data = b""
            while more := slow.recv(1 << 20):
                data += more
        brisk.signal(signal.SIGINT)
        reader.join()
        slow_recording, brisk_recording = self.folder / "slow.swipr", self.folder / "brisk.swipr"
        slow_recording.write_bytes(data[data.index(raw.FILE_MAGIC) :])
        brisk_recording.write_bytes(b"".join(brisk_data))
        for path, interval_ns in ((slow_recording, 500_000), (brisk_recording, 10_000_000)):
            (source,) = raw.read(path.read_bytes()).values()
            self.assertTrue(source.ended)
            self.assertEqual(source.interval_ns, interval_ns)
            dropped = source.totals["samples_dropped"]
            self.assertGreater(dropped, 0) if path == slow_recording else self.assertEqual(dropped, 0)
        finished = self.swipr("convert", slow_recording, "--format", "collapsed", "--weight", "cpu", "--no-inlines")
        self.assertRegex(finished.err, "dropped")
        # Times that are not sent are carried over, so that the sums are exact.
        (source,) = raw.read(slow_recording.read_bytes()).values()
        used = source.totals["process_cpu_ns"] - source.totals["agent_cpu_ns"]
        self.assertAlmostEqual(profiles.total(profiles.parse(finished.out, "collapsed")) / used, 1.0, delta=0.05)
        self.assertEqual(target.end().code, 0)

    def test_several_clients_at_once_each_get_everything(self):
        formats = ("raw", "collapsed", "raw", "perf", "pprof", "raw")
        answers = [None] * len(formats)

        def ask(number):
            body = json.dumps({"numberOfSamples": 50, "timeInterval": "4 ms", "format": formats[number]})
            answers[number] = self.request(self.place, "POST", "/sample", body=body)

        clients = [threading.Thread(target=ask, args=(number,)) for number in range(len(answers))]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        for fmt, answer in zip(formats, answers):
            with self.subTest(format=fmt):
                self.assertEqual(answer.status, 200)
                if fmt == "raw":
                    (source,) = raw.read(answer.body).values()
                    self.assertTrue(source.ended)
                    self.assertEqual(source.totals["samples_dropped"], 0)
                    self.assertEqual(source.totals["ticks"] + source.totals["ticks_missed"], 50)
                else:
                    stacks = profiles.parse(answer.body, fmt)
                    self.assertTrue(profiles.has_function(stacks, "^seventy_percent$"))

    def test_one_recording_too_many_is_refused_and_says_so(self):
        body = b'{"timeInterval":"100 ms"}'
        request = b"POST /v1/record HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        with contextlib.ExitStack() as stack:
            for _ in range(16):
                client = stack.enter_context(socket.socket(socket.AF_UNIX))
                client.settimeout(deadline.DEADLINE_SECONDS)
                client.connect(str(self.place))
                client.sendall(request)
                self.assertRegex(client.recv(1 << 16), rb"^HTTP/1\.1 200 ")
            for path in ("/v1/record", "/sample"):
                answer = self.request(self.place, "POST", path, body=body)
                self.assertEqual((answer.status, answer.text), (503, "too many recordings are in progress\n"))
            refused = self.swipr("record", "--pid", self.running.pid, "-o", self.folder / "x.swipr", expect=None)
            self.assert_one_line_error(refused, "too many recordings are in progress", codes=(1,))
        self.convert(self.record(self.running.pid, "--count", 5, "--interval", "1ms"))

    def test_without_the_swipr_program_raw_still_works(self):
        lonely = self.start_target(
            "blocked_nofp", env={"SWIPR_PROGRAM": "/no/such/program", "PATH": str(self.folder / "empty")}
        )
        place = self.socket_of(lonely.pid)
        answer = self.request(place, "POST", "/sample", body='{"numberOfSamples":2,"timeInterval":"1 ms"}')
        self.assertEqual(answer.status, 501, answer.text)
        answer = self.request(
            place, "POST", "/sample", body='{"numberOfSamples":2,"timeInterval":"1 ms","format":"raw"}'
        )
        self.assertEqual(answer.status, 200)
        self.assertTrue(raw.read(answer.body))


if __name__ == "__main__":
    unittest.main()
