"""What stands between swipr and a store on the web: a server that speaks TLS, and a proxy."""

import base64
import contextlib
import http.server
import socket
import ssl
import subprocess
import threading
import urllib.request


def certificate(folder, name):
    """(certificate, key), signed by itself, for the name localhost only."""
    files = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost",
                    "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def _copy(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _join(one, other):
    back = threading.Thread(target=_copy, args=(other, one), daemon=True)
    back.start()
    _copy(one, other)
    back.join()


class TlsFront:
    """Takes TLS at `port` and passes what is inside to a server."""

    def __init__(self, files, address):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        host, port = address.split(":")
        self.to = host, int(port)
        self.listener = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True,
                                            do_handshake_on_connect=False)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client):
        with client, contextlib.suppress(OSError):
            client.do_handshake()
            with socket.create_connection(self.to) as server:
                _join(client, server)

    def close(self):
        self.listener.close()


class Proxy:
    """An HTTP proxy that wants a name and a password. `seen`: request lines and, if any, bodies that it could read."""

    def __init__(self, login):
        proxy = self
        self.seen, self.refused = [], 0
        wanted = "Basic " + base64.b64encode(login.encode()).decode()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _is_known(self):
                if self.headers.get("Proxy-Authorization") == wanted:
                    return True
                proxy.refused += 1
                self.close_connection = True
                self.send_response(407)
                self.send_header("Proxy-Authenticate", 'Basic realm="proxy"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return False

            def do_CONNECT(self):
                if not self._is_known():
                    return
                proxy.seen.append(self.requestline)
                host, port = self.path.split(":")
                with socket.create_connection((host, int(port))) as server:
                    self.send_response(200)
                    self.end_headers()
                    _join(self.connection, server)
                self.close_connection = True

            def do_POST(self):
                if not self._is_known():
                    return
                proxy.seen.append(self.requestline)
                body = self.rfile.read(int(self.headers["Content-Length"]))
                onward = {name: self.headers[name] for name in ("Content-Type", "Authorization") if name in self.headers}
                with urllib.request.urlopen(urllib.request.Request(self.path, body, onward)) as answer:
                    text = answer.read()
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
