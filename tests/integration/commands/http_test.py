"""The HTTP server in the program: the documented curl lines, and its routes."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import unittest

from support import deadline, products, profiles, raw, sampling
from support.case import SwiprCase
from support.http_server import ServerCase
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


@sampling.sampled
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


@sampling.sampled
class RoutesTest(ServerCase):

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


if __name__ == "__main__":
    unittest.main()
