"""Asks six times over each of forty connections, one after the other, each in a thread of its own."""

import socket
import sys
import threading


def ask_in_two_writes(connection):
    connection.sendall(bytes(40))
    connection.sendall(bytes(400))
    return connection.recv(1)


def ask():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        for _ in range(6):
            ask_in_two_writes(connection)


for _ in range(40):
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
