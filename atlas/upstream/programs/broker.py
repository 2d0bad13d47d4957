"""Just enough of an MQTT 3.1.1 broker: ADDRESS PORT. It accepts every client, and sends each message on the topic "end"
back on the topic "seen", with one write. Every other message it reads and forgets; it acknowledges none (QoS 0)."""
import socket, socketserver, sys

CONNECT, PUBLISH, SUBSCRIBE, PING = 1, 3, 8, 12


class Client(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        while first := self.rfile.read(1):
            kind, body = first[0] >> 4, self.rfile.read(self.length())
            if kind == CONNECT:
                self.wfile.write(b"\x20\x02\x00\x00")
            elif kind == SUBSCRIBE:
                self.wfile.write(b"\x90\x03" + body[:2] + b"\x00")
            elif kind == PING:
                self.wfile.write(b"\xd0\x00")
            elif kind == PUBLISH and body[2:2 + int.from_bytes(body[:2], "big")] == b"end":
                self.wfile.write(b"\x30\x06\x00\x04seen")

    def length(self):
        """Reads a remaining length (MQTT 3.1.1, section 2.2.3)."""
        value, shift = 0, 0
        while True:
            octet = self.rfile.read(1)[0]
            value, shift = value | (octet & 127) << shift, shift + 7
            if octet < 128:
                return value


class Broker(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 128


Broker((sys.argv[1], int(sys.argv[2])), Client).serve_forever()
