"""What one class sends is answered, what the other sends is not; neither speaks for the other."""
import socket


class Asks:
    def __init__(self, address, log):
        # cannot tell: python-socket-with-nagle
        self.end = socket.create_connection(address)
        self.log = log

    def ask(self, request):
        self.log.send(request)
        self.log.send(b"asked")
        self.end.sendall(request)
        return self.end.recv(4096)


class Tells:
    def __init__(self, address):
        # ruleid: python-socket-with-nagle
        self.end = socket.create_connection(address)

    def tell(self, news):
        self.end.sendall(news)

    def file(self, head, path):
        with open(path, "rb") as file:
            # ruleid: python-two-sends
            self.end.sendall(head)
            self.end.sendall(file.read())
            return self.end.recv(1)
