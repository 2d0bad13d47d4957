"""One function sends and another one reads: whether anybody sends twice before it reads is up to who calls them."""
import socket


class Apart:
    def __init__(self, address):
        # cannot tell: python-socket-with-nagle
        self.end = socket.create_connection(address)

    def send(self, request):
        self.end.sendall(request)

    def recv(self):
        return self.end.recv(4096)


class InARow(Apart):
    def again(self, address):
        # cannot tell: python-socket-with-nagle
        self.end = socket.create_connection(address)
