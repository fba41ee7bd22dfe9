"""TCP ports for servers that cannot say which one they chose."""

import socket


def reserve_port(host="127.0.0.1"):
    """A socket whose port nobody gets by chance until it is closed.

    It stays bound and never listens. Linux lets a server that sets SO_REUSEADDR bind the same port and listen, but
    gives it neither to a bind to port 0 nor to a connection (net/ipv4/inet_connection_sock.c,
    inet_csk_find_open_port; inet_hashtables.c, __inet_hash_connect)."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((host, 0))
    return holder


def port_of(holder):
    return holder.getsockname()[1]
