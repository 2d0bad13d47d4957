"""The HTTP client that asks servers, and the HTTP server that answers clients. Neither holds anything back.

    speak_http.py ask ADDRESS PORT EXCHANGES KIND METHOD PATH [--body OCTETS] [--xmlrpc] [--tls]
    speak_http.py answer PORT KIND [--tls CERTIFICATE]

With --tls the connection is encrypted, and no certificate is looked at. KIND is `one` or `two`: how many writes a message takes. The server answers 400 octets to any path; /chunked in four
chunks of 100, /streamed in the same chunks with 5 ms between them, /xmlrpc with the result of a call. --xmlrpc asks pow(2, 3).
"""

import argparse, socket, ssl, threading, time
import loop

BODY = b"x" * 400
CALL = ("<?xml version='1.0'?><methodCall><methodName>pow</methodName><params><param><value><int>2</int></value></param>"
        "<param><value><int>3</int></value></param></params></methodCall>")
RESULT = b"<?xml version='1.0'?><methodResponse><params><param><value><int>8</int></value></param></params></methodResponse>"


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    asks = verbs.add_parser("ask")
    asks.add_argument("address")
    asks.add_argument("port", type=int)
    asks.add_argument("exchanges", type=int)
    asks.add_argument("kind", choices=["one", "two"])
    asks.add_argument("method")
    asks.add_argument("path")
    asks.add_argument("--body", type=int, default=0)
    asks.add_argument("--xmlrpc", action="store_true")
    asks.add_argument("--tls", action="store_true")
    answers = verbs.add_parser("answer")
    answers.add_argument("port", type=int)
    answers.add_argument("kind", choices=["one", "two"])
    answers.add_argument("--tls", metavar="CERTIFICATE")
    options = parser.parse_args()
    ask(options) if options.verb == "ask" else serve(options)


def ask(options):
    client = Client(options)
    loop.ask(options.exchanges, client.exchange)


class Client:
    def __init__(self, options):
        self.options, self.octets = options, None
        body = CALL if options.xmlrpc else "x" * options.body
        first = f"{options.method} {options.path} HTTP/1.1\r\nHost: atlas\r\n"
        if body:
            kind = "text/xml" if options.xmlrpc else "application/octet-stream"
            first += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        # A request of two writes: head and body, or the first line of the head and the rest.
        self.first, self.second = (first + "\r\n", body) if body else (first, "\r\n")

    def exchange(self):
        """Asks once, on the connection that is there if the server has kept it."""
        if not (self.octets and self.ask_on_it()):
            self.connect()
            if not self.ask_on_it():
                raise SystemExit("http: the server closed the connection instead of an answer")

    def connect(self):
        self.end = loop.connected(self.options.address, self.options.port)
        if self.options.tls:
            self.end = unverified().wrap_socket(self.end)
        self.octets = self.end.makefile("rb")

    def ask_on_it(self):
        """Whether the connection had an answer: a server may have closed it after the last one without a word."""
        try:
            loop.write(self.end, self.options.kind, self.first.encode(), self.second.encode())
            status = self.octets.readline()
        except (BrokenPipeError, ConnectionResetError):
            status = b""
        if not (status and self.answer(status)):
            self.octets.close()
            self.end.close()
            self.octets = None
        return bool(status)

    def answer(self, status):
        """Reads the rest of an answer; whether the server keeps the connection."""
        if b" 200" not in status:
            raise SystemExit(f"http: the server answered {status!r}")
        head = head_of(self.octets)
        kept = status.startswith(b"HTTP/1.1") and head.get(b"connection", b"").lower() != b"close"
        if head.get(b"transfer-encoding", b"").lower() == b"chunked":
            chunks(self.octets)
        elif b"content-length" in head:
            self.octets.read(int(head[b"content-length"]))
        else:
            self.octets.read()
            kept = False
        return kept


def unverified():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def head_of(octets):
    """Header fields up to the empty line, their names in small letters."""
    head = {}
    for line in iter(octets.readline, b""):
        if not line.strip():
            break
        name, _, value = line.partition(b":")
        head[name.strip().lower()] = value.strip()
    return head


def chunks(octets):
    while length := int(octets.readline().split(b";")[0] or b"0", 16):
        octets.read(length + 2)
    octets.readline()


def serve(options):
    context = None
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.tls)
    with socket.create_server(("0.0.0.0", options.port), backlog=64) as listener:
        while True:
            end, _ = listener.accept()
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=answer, args=[end, options.kind, context], daemon=True).start()


def answer(end, kind, context):
    try:
        end = context.wrap_socket(end, server_side=True) if context else end
        with end, end.makefile("rb") as octets:
            while line := octets.readline():
                head = head_of(octets)
                if head.get(b"expect", b"").lower() == b"100-continue":
                    end.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                if head.get(b"transfer-encoding", b"").lower() == b"chunked":
                    chunks(octets)
                else:
                    octets.read(int(head.get(b"content-length", b"0")))
                reply(end, kind, line.split()[1])
    except OSError:
        pass  # The client has gone.


def reply(end, kind, path):
    start = b"HTTP/1.1 200 OK\r\nContent-Type: text/%s\r\n" % (b"xml" if path == b"/xmlrpc" else b"plain")
    if path == b"/xmlrpc":
        return loop.write(end, kind, start + b"Content-Length: %d\r\n\r\n" % len(RESULT), RESULT)
    if path not in (b"/chunked", b"/streamed"):
        return loop.write(end, kind, start + b"Content-Length: %d\r\n\r\n" % len(BODY), BODY)
    end.sendall(start + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(4):
        if path == b"/streamed":
            time.sleep(0.005)
        end.sendall(b"64\r\n" + BODY[:100] + b"\r\n")
    end.sendall(b"0\r\n\r\n")


main()
