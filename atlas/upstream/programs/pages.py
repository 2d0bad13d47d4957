"""http.server with keep-alive: 400 octets for "/", and 20 writes of 50 octets for "/pieces": ADDRESS PORT."""
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        pieces = [b"x" * 50] * 20 if self.path == "/pieces" else [b"x" * 400]
        self.send_response(200)
        self.send_header("Content-Length", str(sum(map(len, pieces))))
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
