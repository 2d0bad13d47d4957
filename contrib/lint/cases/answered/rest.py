"""One message, sent until all of it is taken, and its answer."""
import socket


class Client:
    def __init__(self, address):
        # cannot tell: python-socket-with-nagle
        self.end = socket.create_connection(address)

    def ask(self, request):
        sent = 0
        while sent < len(request):
            sent += self.end.send(request[sent:])
        return self.end.recv(4096)


class Listener:
    def __init__(self, address):
        # cannot tell: python-socket-with-nagle
        self.ear = socket.create_connection(address)

    def hear(self):
        return self.ear.recv(4096)
