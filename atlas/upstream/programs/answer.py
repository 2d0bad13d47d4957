"""Answers HTTP requests, each with one write of 41 octets: ADDRESS PORT. It reads requests with a Content-Length."""
import re, selectors, socket, sys

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Connection:
    def __init__(self, taken):
        self.socket, self.left, self.head = taken, None, b""

    def read(self):
        """Returns False when the other end has closed."""
        piece = self.socket.recv(1 << 20)
        while piece:
            if self.left is None:
                self.head += piece
                head, blank, piece = self.head.partition(b"\r\n\r\n")
                if not blank:
                    return True
                length = LENGTH.search(head)
                self.left, self.head = int(length[1]) if length else 0, b""
            used = min(len(piece), self.left)
            self.left, piece = self.left - used, piece[used:]
            if self.left == 0:
                self.left = None
                self.socket.sendall(ANSWER)
            elif not piece:
                return True
            if not piece:
                return True
        return False


def main(address, port):
    listener, ready = socket.create_server((address, int(port)), backlog=128), selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.data is None:
                taken, _ = listener.accept()
                taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ready.register(taken, selectors.EVENT_READ, Connection(taken))
            elif not key.data.read():
                ready.unregister(key.fileobj)
                key.fileobj.close()


main(*sys.argv[1:])
