"""What goes wrong beside a recording: the program goes on, what was recorded converts, the next client is served."""

import http.client
import shutil
import signal
import threading
import unittest

from support import deadline, profiles, raw
from support.case import SwiprCase
from support.guest import GuestCase


class FaultsTest(SwiprCase):
    def test_removed_socket_file_comes_back(self):
        """Cleaners of /tmp remove files, and folders that have become empty."""
        target = self.start_target("shares_nofp")
        place = self.socket_of(target.pid)
        for remove in (place.unlink, lambda: shutil.rmtree(self.sockets)):
            remove()
            self.assertTrue(profiles.has_function(self.convert(self.record(target.pid, "--count", 50)), "percent"))
            self.assertTrue(place.is_socket())
        self.assertEqual(target.end().code, 0)
        self.assertFalse(place.exists())

    def test_killed_client(self):
        target = self.start_target("shares_nofp")
        path = self.folder / "killed.swipr"
        client = self.start_swipr("record", "--pid", target.pid, "--interval", "2ms", "-o", path)
        deadline.wait_until(lambda: path.exists() and raw.has_tick(path.read_bytes()), "a tick")
        client.signal(signal.SIGKILL)
        client.wait()
        finished = self.swipr("convert", path, "--format", "collapsed")
        self.assertRegex(finished.err, "the recording has no end")
        self.assertTrue(profiles.has_function(profiles.parse(finished.out, "collapsed"), "percent"))
        self.assertTrue(profiles.has_function(self.convert(self.record(target.pid, "--count", 50)), "percent"))
        self.assertEqual(target.end().code, 0)

    def test_stopped_client_goes_on(self):
        target = self.start_target("shares_nofp")
        client, data = self.start_streaming(target.pid, "--interval", "2ms")
        client.signal(signal.SIGSTOP)
        self.record(target.pid, "--count", 300, "--interval", "1ms")  # another client is not held up
        client.signal(signal.SIGCONT)
        self.assertTrue(profiles.has_function(self.convert(self.finish_streaming(client, data)), "percent"))
        self.assertEqual(target.end().code, 0)

    def test_a_hundred_clients(self):
        target = self.start_target("shares_nofp")
        place = self.socket_of(target.pid)
        answers = []

        def ask():
            try:
                answers.append(self.request(place, "POST", "/v1/record", body='{"numberOfSamples":20,"timeInterval":"1 ms"}'))
            except (OSError, http.client.HTTPException):
                pass  # one too many: the queue is full, or the connection closed before all was sent

        clients = [threading.Thread(target=ask) for _ in range(100)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertLessEqual({answer.status for answer in answers}, {200, 503})
        complete = [raw.read(answer.body) for answer in answers if answer.status == 200]
        self.assertGreater(len(complete), 0)
        for sources in complete:
            (source,) = sources.values()
            self.assertEqual(source.totals["ticks"] + source.totals["ticks_missed"], 20)
        self.assertEqual(self.request(place, "GET", "/v1/info").status, 200)
        self.assertEqual(target.end().code, 0)


class NoPlaceTest(GuestCase):
    def test_no_folder_for_the_socket(self):
        """As with a full or a read-only /tmp: recordable by `record -- CMD` only, and otherwise as always."""
        settings = {"SWIPR_SOCKET_DIR": "/dev/null/swipr"}
        name = "allocating_none"
        plain = self.start(self.target_path(name)).wait()
        idle = self.start(self.target_path(name), env=settings, preloaded=True).wait()
        recorded, path = self.run_recorded(name, env=settings)
        for finished in (idle, recorded):
            self.assertEqual((finished.code, finished.out), (plain.code, plain.out), repr(finished))
        self.assertEqual(len(raw.read(path.read_bytes())), 4)


if __name__ == "__main__":
    unittest.main()
