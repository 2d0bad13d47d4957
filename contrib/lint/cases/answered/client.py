"""Whatever it sends is answered before it sends again."""
import socket


class Client:
    def __init__(self, address):
        # cannot tell: python-socket-with-nagle
        self.end = socket.create_connection(address)

    def ask(self, request):
        for attempt in range(2):
            try:
                self.end.sendall(request)
                return self._answer()
            except ConnectionError:
                self.end = None
                raise

    def _answer(self):
        octets = b""
        while not octets.endswith(b"\n"):
            octets += self.end.recv(4096)
        return octets

    def close(self):
        self.end.sendall(b"quit\n")
        self.end.close()
