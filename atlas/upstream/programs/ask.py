"""Asks an HTTP server again and again over kept connections: HOST PORT CONNECTIONS EXCHANGES PATH.

Writes how long each exchange took (microseconds, from the write of the request to the last octet of the answer) and how
long all took together (seconds), as JSON. The first exchange of a connection is held back from the times: a kernel
acknowledges a connection's first segments at once.
"""
import json, selectors, socket, sys, time


class Asker:
    def __init__(self, address, path):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.question = f"GET {path} HTTP/1.1\r\nHost: server\r\n\r\n".encode()
        self.asked = 0

    def ask(self):
        self.got, self.began, self.asked = b"", time.perf_counter(), self.asked + 1
        self.socket.sendall(self.question)

    def read(self):
        """Returns how many microseconds the exchange took, once the answer is whole, else nothing."""
        piece = self.socket.recv(65536)
        if not piece:
            raise SystemExit("the server closed the connection")
        self.got += piece
        if whole(self.got):
            return (time.perf_counter() - self.began) * 1e6


def whole(answer):
    head, blank, body = answer.partition(b"\r\n\r\n")
    if not blank:
        return False
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
    return body.endswith(b"0\r\n\r\n")


def main(host, port, connections, exchanges, path):
    askers = [Asker((host, int(port)), path) for _ in range(int(connections))]
    waiting, micros, began = selectors.DefaultSelector(), [], time.perf_counter()
    for asker in askers:
        waiting.register(asker.socket, selectors.EVENT_READ, asker)
        asker.ask()
    left = len(askers)
    while left:
        for key, _ in waiting.select():
            took = key.data.read()
            if took is None:
                continue
            if key.data.asked > 1:
                micros.append(took)
            if key.data.asked <= int(exchanges):
                key.data.ask()
            else:
                left -= 1
    print(json.dumps({"micros": micros, "seconds": time.perf_counter() - began}))


main(*sys.argv[1:])
