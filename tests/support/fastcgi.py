"""A client of FastCGI, version 1: one request for each connection."""

import socket
import struct

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6
RESPONDER = 1


def record(kind, content=b""):
    return struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content


def get(address, script):
    """What the script in that file prints, with its headers. `address`: of a Unix socket."""
    parameters = {"SCRIPT_FILENAME": str(script), "REQUEST_METHOD": "GET", "SERVER_PROTOCOL": "HTTP/1.1"}
    pairs = b"".join(bytes([len(name), len(value)]) + name.encode() + value.encode() for name, value in parameters.items())
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(address))
        connection.sendall(record(BEGIN, struct.pack(">HB5x", RESPONDER, 0)) + record(PARAMS, pairs) + record(PARAMS)
                           + record(STDIN))
        return answer_of(connection.makefile("rb"))


def answer_of(stream):
    said = b""
    while True:
        _, kind, _, length, padding = struct.unpack(">BBHHBx", stream.read(8))
        content = stream.read(length + padding)[:length]
        if kind == STDOUT:
            said += content
        if kind == END:
            return said.decode()
