"""Sockets on which Nagle's algorithm stays on."""
import http.server
import socket
import socketserver
from socket import create_connection


def ask(address, head, body):
    # ruleid: python-socket-with-nagle
    sock = socket.create_connection(address)
    # ruleid: python-two-sends
    sock.sendall(head)
    sock.sendall(body)
    return sock.recv(100)


def ask_by_name(address, question):
    # ruleid: python-socket-with-nagle
    return create_connection(address).makefile("rwb").write(question)


def open_by_hand(family, address):
    try:
        # ruleid: python-socket-with-nagle
        sock = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        return None
    sock.connect(address)
    return sock


def serve(listener, work):
    # ruleid: python-socket-with-nagle
    end, _ = listener.accept()
    work(end)


class Kept_open:
    def open(self, address, listener):
        # ruleid: python-socket-with-nagle
        self.end = socket.create_connection(address)
        # ruleid: python-socket-with-nagle
        self.client, _ = listener.accept()


def stream(address, pieces):
    # ruleid: python-socket-with-nagle
    sock = socket.create_connection(address)
    for piece in pieces:
        sock.sendall(piece)


def in_a_block(address, work):
    # ruleid: python-socket-with-nagle
    with socket.create_connection(address) as sock:
        work(sock)


# What sends once on a connection, or never, does not stall.
def ask_once(address, question):
    # ok: python-socket-with-nagle
    sock = socket.create_connection(address)
    sock.sendall(question)
    answer = sock.recv(100)
    sock.close()
    return answer


def probe(address):
    # ok: python-socket-with-nagle
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.connect(address)
    sock.close()


def turn_away(listener):
    # ok: python-socket-with-nagle
    end, _ = listener.accept()
    end.close()


def greet(listener):
    while True:
        # ok: python-socket-with-nagle
        end, _ = listener.accept()
        end.sendall(b"welcome")
        end.close()


def datagram(address):
    # ok: python-socket-with-nagle
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(address)
    return sock


def two_questions(sock):
    # ok: python-two-sends
    sock.sendall(b"one")
    sock.recv(100)
    sock.sendall(b"two")
    return sock.recv(100)


# ruleid: python-stream-handler-with-nagle
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"head")
        self.wfile.write(self.rfile.readline())


# ruleid: python-stream-handler-with-nagle
class Kept(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"body")


# HTTP/1.0 closes after the answer, and nothing waits.
# ok: python-stream-handler-with-nagle
class Closed(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"body")
