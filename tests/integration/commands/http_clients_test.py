"""The HTTP server in the program and malformed requests, oversized ones, clients that stop, and many at once."""

import contextlib
import json
import signal
import socket
import threading
import unittest

from support import deadline, profiles, raw, sampling
from support.http_server import ServerCase


@sampling.sampled
class ClientsTest(ServerCase):
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
