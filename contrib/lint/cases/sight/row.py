"""The same two functions, called by a third one: it sends twice before it reads."""
import socket


class Row:
    def __init__(self, address):
        # ruleid: python-socket-with-nagle
        self.end = socket.create_connection(address)

    def send(self, request):
        self.end.sendall(request)

    def recv(self):
        return self.end.recv(4096)

    def ask(self, head, body):
        self.send(head)
        self.send(body)
        return self.recv()
