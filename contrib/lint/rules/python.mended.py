"""The same with TCP_NODELAY: somewhere in the file is enough."""
import socket
import socketserver


def ask(address, head, body):
    # ok: python-socket-with-nagle
    sock = socket.create_connection(address)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # ok: python-two-sends
    sock.sendall(head)
    sock.sendall(body)
    return sock.recv(100)


# ok: python-stream-handler-with-nagle
class Echo(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        self.wfile.write(self.rfile.readline())
