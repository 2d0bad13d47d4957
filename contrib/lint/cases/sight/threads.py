"""Functions that stand apart, and a thread that reads: who sends does not wait for it."""
import socket
import threading


class Client:
    def __init__(self, address):
        # ruleid: python-socket-with-nagle
        self.end = socket.create_connection(address)
        threading.Thread(target=self.read).start()

    def send(self, request):
        self.end.sendall(request)

    def read(self):
        while self.end.recv(4096):
            pass
