"""A sender with Nagle's original rule, which Linux no longer has."""

import json
import random
import socket
import struct
import subprocess
import threading
import time

from .network import sh
from .play import End
from .roles import answerer


class StrictNagle:
    """A TCP sender of RFC 896 over raw frames, from an address that no kernel owns.

    Full segments leave at once; a short one waits until everything is acknowledged. A send
    buffer, if given, bounds what is unacknowledged, in bytes.
    """

    ADDRESS, MAC = "10.77.0.9", bytes.fromhex("020000770009")
    MSS = 1460

    def __init__(self, lab, log, port=7000, buffer=1 << 30):
        self.log, self.port, self.buffer = log, port, buffer
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.sock.bind(("va", 0))
        self.sock.settimeout(5)
        sh(f"ip -n {lab.b.name} neigh replace {self.ADDRESS} lladdr 02:00:00:77:00:09 dev vb")
        link = json.loads(
            subprocess.check_output(f"ip -j -n {lab.b.name} link show vb", shell=True)
        )
        self.to = bytes.fromhex(link[0]["address"].replace(":", ""))
        self.source = random.randrange(20000, 60000)
        self.key = (self.source, "client")
        self.seq = random.randrange(1 << 32)
        self.acked = self.seq
        self.ack = self.total = self.written = 0

    def emit(self, flags, payload=0, options=b""):
        tcp_len = 20 + len(options) + payload
        head = struct.pack(
            "!HHIIBBHHH", self.source, self.port, self.seq & 0xFFFFFFFF, self.ack,
            (20 + len(options)) // 4 << 4, flags, 65000, 0, 0,
        )
        segment = head + options + b"x" * payload
        pseudo = socket.inet_aton(self.ADDRESS) + socket.inet_aton("10.77.0.2")
        pseudo += struct.pack("!BBH", 0, 6, tcp_len)
        check = checksum(pseudo + segment)
        segment = segment[:16] + struct.pack("!H", check) + segment[18:]
        ip = struct.pack(
            "!BBHHHBBH4s4s", 0x45, 0, 20 + tcp_len, 0, 0x4000, 64, 6, 0,
            socket.inet_aton(self.ADDRESS), socket.inet_aton("10.77.0.2"),
        )
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        self.sock.send(self.to + self.MAC + b"\x08\x00" + ip + segment)

    def receive(self):
        """One segment for us: (flags, payload length), with the ACK taken in."""
        while True:
            frame = self.sock.recv(65536)
            if frame[30:34] != socket.inet_aton(self.ADDRESS) or frame[23] != 6:
                continue
            total = struct.unpack("!H", frame[16:18])[0]
            seq, ack = struct.unpack("!II", frame[38:46])
            payload = total - 20 - (frame[46] >> 4) * 4
            if frame[47] & 0x10:
                self.acked = ack
            if payload or frame[47] & 3:
                self.ack = (seq + payload + (1 if frame[47] & 3 else 0)) & 0xFFFFFFFF
            return frame[47], payload

    def connect(self):
        self.emit(2, options=struct.pack("!BBH", 2, 4, self.MSS))
        self.seq = (self.seq + 1) & 0xFFFFFFFF
        self.receive()
        self.emit(16)

    def send(self, *writes):
        """Writes, each at once behind the other, and what leaves when."""
        waiting = 0
        for length in writes:
            self.log.wrote(self.key, self.written, length, time.time_ns(), True)
            self.written += length
            waiting += length
            waiting = self.push(waiting)
        while waiting:
            self.receive()
            waiting = self.push(waiting)

    def push(self, waiting):
        while waiting >= self.MSS or (waiting and self.acked == self.seq):
            part = min(waiting, self.MSS)
            if (self.seq - self.acked & 0xFFFFFFFF) + part > self.buffer:
                break
            self.emit(24 if part == waiting else 16, part)
            self.seq = (self.seq + part) & 0xFFFFFFFF
            waiting -= part
        return waiting

    def answer(self, length):
        left = length
        while left > 0:
            _, payload = self.receive()
            if payload:
                left -= payload
                self.total += payload
                self.log.read((self.source, "server"), self.total, time.time_ns())
                if left > 0:
                    self.emit(16)

    def close(self):
        self.emit(17)
        self.seq = (self.seq + 1) & 0xFFFFFFFF
        self.receive()
        self.emit(16)
        self.sock.close()


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def strict(lab, log, message, rounds, buffer=1 << 30):
    """Nagle's original rule on the client's side."""

    def serve():
        lab.b.enter()
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("10.77.0.2", 7000))
        listener.listen(1)
        ready.set()
        sock, origin = listener.accept()
        answerer(message, (60,))(End(log, origin[1], "server", sock))
        sock.close()
        listener.close()

    ready = threading.Event()
    server = threading.Thread(target=serve)
    server.start()
    ready.wait()

    def call():
        lab.a.enter()
        sender = StrictNagle(lab, log, buffer=buffer)
        sender.connect()
        for _ in range(rounds):
            if buffer < message:
                # An application under a small buffer blocks: each part is written when it fits.
                for _ in range(message // buffer):
                    sender.send(buffer)
            else:
                sender.send(message)
            sender.answer(60)
            time.sleep(0.01)
        sender.close()

    caller = threading.Thread(target=call)
    caller.start()
    caller.join(60)
    server.join(60)
