"""swipr latency with streams that a test makes up: refusals, functions that are left alone, damage."""

import json
import os
import time
import unittest

from support import fake_process as fake
from support import products
from support.case import SwiprCase

SECOND = fake.SECOND


class LatencyStreamsTest(SwiprCase):
    def latency(self, answer, *arguments, expect=0, functions=("timed_call", "hot_call")):
        """Runs swipr on a process that answers so."""
        module = products.target("calls_nofp")
        self.process = fake.FakeProcess(self.sockets, module, products.build_id(module), answer)
        self.addCleanup(self.process.close)
        return self.swipr("latency", "--pid", os.getpid(), *functions, *arguments, expect=expect)

    def test_the_request(self):
        def answer(_, send):
            send(fake.block(fake.probe(0, fake.ATTACHED), fake.probe(1, fake.ATTACHED), fake.tick(), fake.end()))

        self.latency(answer, "-i", "200ms", "-d", "5s", "--max-overhead", "7%")
        modules, request = self.process.requests
        self.assertEqual(modules["numberOfSamples"], 1)
        first, second = request["probes"].splitlines()
        self.assertRegex(first, rf"^0x[0-9a-f]+ build-id {products.build_id(products.target('calls_nofp'))}$")
        self.assertNotEqual(first, second)
        self.assertIs(request["sampling"], False)
        self.assertEqual((request["latencyInterval"], request["duration"]), ("200 ms", "5 s"))
        self.assertEqual(request["maxOverhead"], "7.0%")
        self.assertEqual(request["timeInterval"], "10 ms")

    def test_rows_and_summary(self):
        def answer(_, send):
            send(fake.block(fake.probe(0, fake.ATTACHED), fake.probe(1, fake.ATTACHED), fake.tick()))
            send(fake.block(fake.latency(0, 0, SECOND, [1000] * 90 + [9000] * 10, unwound=4),
                            fake.latency(1, 0, SECOND, []), fake.tick()))
            send(fake.block(fake.latency(0, SECOND, SECOND, [2000] * 10, longest=9000, still_open=3),
                            fake.latency(1, SECOND, SECOND, [50]), fake.tick(), fake.end()))

        finished = self.latency(answer, "-i", "1s", "--json")
        first, last = [json.loads(line) for line in finished.out.splitlines()]
        timed, hot = first["functions"]
        self.assertEqual((timed["calls"], timed["exceptions"], timed["quantiles_ns"]["max"]), (100, 4, 9000))
        self.assertEqual((hot["calls"], hot["quantiles_ns"]["p50"]), (0, None))
        timed, hot = last["functions"]
        self.assertTrue(last["final"])
        self.assertEqual((timed["calls"], timed["traced_ns"], timed["open"]), (110, 2 * SECOND, 3))
        self.assertEqual(hot["calls"], 1)

    def test_refusals_are_told(self):
        def some(_, send):
            send(fake.block(fake.probe(0, fake.REFUSED, "it is too short\x1b[2J"), fake.probe(1, fake.ATTACHED),
                            fake.tick(), fake.end()))

        finished = self.latency(some)
        self.assertIn("timed_call is not traced, because it is too short", finished.err)
        self.assertNotIn("\x1b", finished.err)
        self.assertIn("hot_call (calls_nofp): 0 calls", finished.out.decode())
        self.assertNotIn("timed_call", finished.out.decode())

    def test_no_function_is_left(self):
        def none(client, send):
            send(fake.block(fake.probe(0, fake.REFUSED, "it is too short"), fake.tick()))
            client.recv(1)  # until the client has enough
            send(fake.block(fake.end(1)))

        finished = self.latency(none, functions=("timed_call",), expect=1)
        self.assertEqual(finished.err.splitlines()[-1], "swipr: no function is traced")
        self.assertEqual(finished.out, b"")

    def test_functions_that_cost_too_much(self):
        def answer(client, send):
            send(fake.block(fake.probe(0, fake.ATTACHED), fake.tick()))
            send(fake.block(fake.latency(0, 0, SECOND, [20] * 5), fake.probe(0, fake.DETACHED, "its calls cost too much"),
                            fake.tick()))
            client.recv(1)
            send(fake.block(fake.end(1)))

        finished = self.latency(answer, functions=("hot_call",))
        self.assertIn("hot_call is no longer traced, because its calls cost too much", finished.err)
        self.assertIn("5 calls in 1 s", finished.out.decode())
        self.assertIn("no longer traced: its calls cost too much", finished.out.decode())

    def test_an_old_library(self):
        def answer(_, send):
            send(fake.block(fake.tick(), fake.end()))

        self.assertIn("it is an older one", self.latency(answer, expect=1).err)

    def test_ends_that_nobody_asked_for(self):
        def cut(_, send):
            send(fake.block(fake.probe(0, fake.ATTACHED), fake.tick()))
            send(fake.block(fake.latency(0, 0, SECOND, [100] * 7)))

        finished = self.latency(cut, functions=("hot_call",))
        self.assertIn("7 calls in 1 s", finished.out.decode())
        self.assertIn("the process has ended", finished.err)

    def test_a_failure(self):
        def answer(_, send):
            send(fake.block(fake.probe(0, fake.ATTACHED), fake.tick(), fake.end(4, "out of memory")))

        finished = self.latency(answer, functions=("hot_call",), expect=1)
        self.assertIn("tracing ended early: out of memory", finished.err)

    def test_damage(self):
        def block(_, send):
            good = bytearray(fake.block(fake.probe(0, fake.ATTACHED), fake.tick()))
            good[-1] ^= 1
            send(bytes(good))

        self.assertIn("damaged", self.latency(block, functions=("hot_call",), expect=1).err)

    def test_damaged_records(self):
        def answer(_, send):
            send(fake.block(fake.probe(0, fake.ATTACHED), fake.probe(17, fake.ATTACHED), fake.tick()))
            send(fake.block(fake.latency(0, 0, SECOND, [100] * 7), fake.latency(9, 0, SECOND, [100]), fake.end()))

        finished = self.latency(answer, functions=("hot_call",))
        self.assertIn("a part of the stream was damaged", finished.err)
        self.assertIn("7 calls in 1 s", finished.out.decode())

    def test_a_process_that_does_not_end_when_asked(self):
        def answer(client, send):
            send(fake.block(fake.probe(0, fake.ATTACHED), fake.tick()))
            send(fake.block(fake.latency(0, 0, SECOND, [100] * 7), fake.tick()))
            while True:  # after the client has asked for the end, too
                send(fake.block(fake.tick()))
                time.sleep(0.02)

        finished = self.latency(answer, "-i", "1s", "--count", "1", functions=("hot_call",), expect=1)
        self.assertIn("7 calls in 1 s", finished.out.decode())
        self.assertIn("the process does not end the measurement: its last calls are missing", finished.err)


if __name__ == "__main__":
    unittest.main()
