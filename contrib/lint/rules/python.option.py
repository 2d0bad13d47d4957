"""An option that is off by default."""
import socket


class Client:
    def __init__(self, address, no_delay=False):
        self.no_delay = no_delay
        sock = socket.create_connection(address)
        if self.no_delay:
            # ruleid: python-option-off-by-default
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(b"hello")
