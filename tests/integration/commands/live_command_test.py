"""`swipr view --live -- CMD`: the command behaves as without swipr, and its page is told what it does."""

import http.client
import json
import re
import signal
import time
import unittest
import urllib.parse

from support import deadline
from support.case import SwiprCase

URL = re.compile(r"^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$", re.MULTILINE)


class LiveCommandTest(SwiprCase):
    def view(self, *command, options=()):
        """(running swipr, address of its page)"""
        running = self.start_swipr("view", "--live", "--no-browser", *options, "--", *command)
        url = deadline.wait_until(lambda: URL.search(running.err()), "the address on stderr")
        return running, url.group()

    def events(self, url):
        """The events of a page that has just been opened, as they come."""
        place = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(place.netloc, timeout=2 * deadline.DEADLINE_SECONDS)
        self.addCleanup(connection.close)
        connection.request("GET", f"{place.path}events")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        for line in answer:
            if line.startswith(b"data:"):
                yield json.loads(line[len(b"data:"):])

    def wait_for(self, events, condition):
        end = time.monotonic() + 2 * deadline.DEADLINE_SECONDS
        for event in events:
            if condition(event):
                return event
            if time.monotonic() > end:
                raise deadline.DeadlineExceeded(f"the last event is {str(event)[:500]}")
        raise AssertionError("the page was told the end before")

    @staticmethod
    def has_function(name):
        return lambda event: any(name in function[0] for function in event.get("functions", ()))

    def test_the_page_is_told_what_the_command_does_until_it_ends(self):
        running, url = self.view(self.target_path("phases_nofp"), 2)
        events = self.events(url)
        event = self.wait_for(events, self.has_function("phase_one"))
        self.assertRegex(event["title"], r"^phases_nofp \d+$")
        running.send("\n")
        self.wait_for(events, self.has_function("phase_two"))
        running.process.stdin.close()
        self.wait_for(events, lambda event: event["ended"])
        finished = running.wait()
        self.assertEqual(finished.code, 0, repr(finished))
        self.assertEqual(finished.out, b"ready\n")
        self.assertIn("the process has ended: phases_nofp", finished.err)

    def test_an_image_that_the_command_executes_is_followed(self):
        phases = self.target_path("phases_nofp")
        running, url = self.view(self.target_path("exec_chain_nofp"), 500, phases)
        events = self.events(url)
        first = self.wait_for(events, self.has_function("before_exec"))
        last = self.wait_for(events, self.has_function("phase_one"))
        self.assertEqual(first["title"].split()[1], last["title"].split()[1])
        self.assertEqual(last["title"].split()[0], "phases_nofp")
        self.assertEqual(running.end().code, 0)

    def test_exit_code_of_the_command_is_swiprs(self):
        for code in (0, 3):
            with self.subTest(code=code):
                finished = self.swipr("view", "--live", "--no-browser", "--", self.target_path("burn_nofp"), 50, code, expect=code)
                self.assertEqual(finished.out, b"")

    def test_signals_are_passed_to_the_command(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                running, url = self.view(self.target_path("burn_nofp"), 600_000)
                self.wait_for(self.events(url), self.has_function("burn_hot"))
                running.signal(number)
                finished = running.wait()
                self.assertEqual(finished.code, 128 + number, repr(finished))

    def test_a_command_that_handles_the_signal_ends_as_it_likes(self):
        # A signal just before a sleep does not end it: Python runs the handler behind it.
        script = ("import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); print('ready', flush=True)\n"
                  "while True: time.sleep(0.05)")
        running, _ = self.view("python3", "-c", script)
        running.wait_ready()
        running.signal(signal.SIGTERM)
        finished = running.wait()
        self.assertEqual(finished.code, 7, repr(finished))

    def test_processes_that_it_starts_run_on_and_are_named(self):
        finished = self.swipr("view", "--live", "--no-browser", "--", "sh", "-c", f"{self.target_path('burn_nofp')} 50 5; exit $?", expect=5)
        self.assertRegex(finished.err, r"only the command is shown, not processes that it starts, such as \d+ \(")

    def test_calls_of_functions_are_told(self):
        running, url = self.view(self.target_path("phases_nofp"), options=("--latency", "hold_mutex"))
        events = self.events(url)
        self.wait_for(events, lambda event: event.get("calls") == [["hold_mutex", 1, ""]])
        rows = self.wait_for(events, lambda event: len(event["call_rows"]) > 4)["call_rows"]
        self.assertGreater(sum(rows[at + 3] for at in range(0, len(rows), 4) if rows[at + 2] < 1920), 0)
        self.assertEqual(running.end().code, 0)

    def test_a_function_of_a_library_that_is_loaded_later_is_traced(self):
        script = ("import time; print('ready', flush=True); input(); import zlib\n"
                  "while True: zlib.compress(bytes(100_000)); time.sleep(0.001)")
        running, url = self.view("python3", "-c", script, options=("--latency", "libz!deflate"))
        deadline.wait_until(lambda: "trying again" in running.err(), "the first try")
        running.send("\n")
        self.wait_for(self.events(url), lambda event: len(event.get("call_rows", ())) > 4)
        running.signal(signal.SIGTERM)
        self.assertEqual(running.wait().code, 128 + signal.SIGTERM)

    def test_what_cannot_be_started(self):
        finished = self.swipr("view", "--live", "--", "/no/such/program", expect=127)
        self.assert_one_line_error(finished, "/no/such/program", codes=(127,))
        finished = self.swipr("view", "--live", "--", self.folder, expect=126)
        self.assert_one_line_error(finished, "cannot run", codes=(126,))
        finished = self.swipr("view", "--live", "--", self.target_path("burn_static"), 50, expect=1)
        self.assert_one_line_error(finished, "is statically linked")

    def test_a_command_that_is_not_recorded(self):
        finished = self.swipr("view", "--live", "--", self.target_path("burn_nofp"), 20, 4, expect=4, env={"SWIPR_DISABLE": "1"})
        self.assertIn("nothing was recorded", finished.err)
        finished = self.swipr("view", "--live", "--", self.target_path("burn_nofp"), 20, expect=1, env={"SWIPR_DISABLE": "1"})
        self.assertIn("did not load libswipr_preload.so", finished.err)


if __name__ == "__main__":
    unittest.main()
