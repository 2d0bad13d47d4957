"""http.server with keep-alive. Headers and body are two writes, as in the documentation's examples; /whole writes them
together, /chunked has four chunks."""
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1 if "buffered" in sys.argv else 0

    def do_GET(self):
        self.send_response(200)
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for _ in range(4):
                self.wfile.write(b"64\r\n" + b"x" * 100 + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/whole":
            self.send_header("Content-Length", "400")
            self._headers_buffer.append(b"\r\n" + b"x" * 400)
            self.flush_headers()
        else:
            self.send_header("Content-Length", "400")
            self.end_headers()
            self.wfile.write(b"x" * 400)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Handler).serve_forever()
