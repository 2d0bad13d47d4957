"""A request in pieces: each but the first is held."""
import socket


class Client:
    def __init__(self, address):
        # ruleid: python-socket-with-nagle
        self.end = socket.create_connection(address)

    def ask(self, pieces):
        for piece in pieces:
            self.end.sendall(piece)
        return self.end.recv(4096)
