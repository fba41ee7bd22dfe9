"""The example that answers with a profile of itself while it serves."""

import re
import threading
import unittest
import urllib.error
import urllib.request

from support import products, profiles
from support.case import SwiprCase


class BusyServerTest(SwiprCase):
    def start_server(self, **options):
        running = self.start("setpriv", "--pdeathsig", "KILL", products.example("busy_server"), 0, **options)
        self.address = re.search(r"http://[0-9.:]+", running.read_line())[0]
        self.addCleanup(running.process.kill)
        return running

    def get(self, path):
        try:
            with urllib.request.urlopen(self.address + path, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def test_a_profile_under_load_shows_what_requests_cost(self):
        running = self.start_server(preloaded=True)
        self.wait_for_socket(running.pid)
        ended = threading.Event()

        def load():
            while not ended.is_set():
                self.assertEqual(self.get("/busy?ms=10")[0], 200)

        loads = [threading.Thread(target=load) for _ in range(2)]
        for each in loads:
            each.start()
        status, profile = self.get("/sample/2")
        ended.set()
        for each in loads:
            each.join()
        self.assertEqual(status, 200)
        stacks = profiles.parse(profile, "pprof")
        busy = [stack for stack in stacks if any("collatz_steps" in frame for frame in stack.frames)]
        self.assertGreater(sum(stack.values["cpu/nanoseconds"] for stack in busy), 0.5 * sum(stack.values["cpu/nanoseconds"] for stack in stacks))
        self.assertEqual({stack.labels.get("endpoint") for stack in busy}, {"/busy"})

    def test_without_the_preload_it_says_what_is_missing(self):
        self.start_server()
        status, text = self.get("/sample/1")
        self.assertEqual(status, 501)
        self.assertIn(b"libswipr_preload.so", text)


if __name__ == "__main__":
    unittest.main()
