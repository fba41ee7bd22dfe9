"""A program that runs, and its HTTP server."""

import socket

from support import deadline
from support.case import SwiprCase


class ServerCase(SwiprCase):
    def setUp(self):
        super().setUp()
        self.running = self.start_target("shares_nofp")
        self.place = self.socket_of(self.running.pid)

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
