"""Asks forty times, or as often as its second argument says, in two writes each time, so that the second waits."""

import socket
import sys


class Asker:
    def ask_in_two_writes(self, connection):
        connection.sendall(bytes(40))
        connection.sendall(bytes(400))  # here
        return connection.recv(1)


def main():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 40):
            Asker().ask_in_two_writes(connection)


main()
