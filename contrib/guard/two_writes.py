"""Asks in two writes and reads the answer, four times: it stalls, and with --nodelay it does not. For trying guard."""

import socket
import sys
import threading

TIMES, ASKED, ANSWERED = 4, 300, 300


def serve(listener):
    """Answers each question once it is whole."""
    connection, _ = listener.accept()
    with connection:
        for _ in range(TIMES):
            read = 0
            while read < ASKED:
                read += len(connection.recv(ASKED - read))
            connection.sendall(b"a" * ANSWERED)


with socket.create_server(("127.0.0.1", 0)) as listener:
    server = threading.Thread(target=serve, args=[listener])
    server.start()
    with socket.create_connection(listener.getsockname()) as client:
        if "--nodelay" in sys.argv:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(TIMES):
            client.sendall(b"q" * 100)
            client.sendall(b"q" * (ASKED - 100))
            read = 0
            while read < ANSWERED:
                read += len(client.recv(ANSWERED - read))
    server.join()
