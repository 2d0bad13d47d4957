"""With `wait=False` it sends without an answer, and the next one is held."""
import socket


class Client:
    def __init__(self, address):
        # ruleid: python-socket-with-nagle
        self.end = socket.create_connection(address)

    def ask(self, request, wait=True):
        self.end.sendall(request)
        if not wait:
            return None
        return self.end.recv(4096)
