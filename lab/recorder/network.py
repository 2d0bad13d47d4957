"""Namespaces, the two hosts of a pattern, and the forwarder that delays, drops or holds back frames."""

import ctypes
import heapq
import os
import select
import socket
import struct
import subprocess
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)


def sh(command):
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)


class Namespace:
    """A network namespace; `with` moves the calling thread into it."""

    def __init__(self, name):
        self.name = name
        sh(f"ip netns add {name} && ip -n {name} link set lo up")
        self.exec(
            "sysctl -q net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0"
            " net.ipv6.conf.default.router_solicitations=0"
        )

    def exec(self, command):
        sh(f"ip netns exec {self.name} {command}")

    def enter(self):
        with open(f"/run/netns/{self.name}") as handle:
            if libc.setns(handle.fileno(), 0x4000_0000) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def delete(self):
        sh(f"ip netns del {self.name}")


class Lab:
    """Hosts a (client, .1) and b (server, .2); with `way` a forwarder stands between them."""

    def __init__(self, offload=True, way=None, mtu=1500):
        tag = f"tg{os.getpid()}"
        self.a, self.b = Namespace(f"{tag}a"), Namespace(f"{tag}b")
        self.middle = Namespace(f"{tag}m") if way else None
        if way:
            for end in "ab":
                sh(f"ip -n {tag}{end} link add v{end} type veth peer name m{end}")
                sh(f"ip -n {tag}{end} link set dev m{end} netns {tag}m")
                sh(f"ip -n {tag}m link set dev m{end} up")
        else:
            sh(f"ip -n {tag}a link add va type veth peer name vb")
            sh(f"ip -n {tag}a link set dev vb netns {tag}b")
        for end, ns in (("a", self.a), ("b", self.b)):
            n = 1 if end == "a" else 2
            sh(f"ip -n {ns.name} addr add 10.77.0.{n}/24 dev v{end}")
            sh(f"ip -n {ns.name} addr add fd77::{n}/64 dev v{end} nodad")
            sh(f"ip -n {ns.name} link set dev v{end} mtu {mtu} up")
            if not offload or way:
                ns.exec(f"ethtool -K v{end} tso off gso off gro off tx off")
        if way:
            for end in "ab":
                self.middle.exec(f"ethtool -K m{end} tso off gso off gro off tx off")
            self.forwarder = Forwarder(self.middle, way)
        time.sleep(0.3)

    def close(self):
        if self.middle:
            self.forwarder.stop()
            self.middle.delete()
        self.a.delete()
        self.b.delete()


class Forwarder(threading.Thread):
    """Carries frames between ma and mb. `way(frame, forth)` gives the delay in seconds or None
    to drop the frame."""

    def __init__(self, ns, way):
        super().__init__(daemon=True)
        self.ns, self.way, self.running = ns, way, True
        self.start()

    def run(self):
        self.ns.enter()
        ends = []
        for name in ("ma", "mb"):
            end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            end.bind((name, 0))
            end.setblocking(False)
            ends.append(end)
        queue, count = [], 0
        last = [0.0, 0.0]
        while self.running:
            now = time.monotonic()
            while queue and queue[0][0] <= now:
                _, _, to, frame = heapq.heappop(queue)
                to.send(frame)
            patience = min(0.05, max(0.0, queue[0][0] - now)) if queue else 0.05
            # select sleeps some 50 us too long; the last stretch is spun.
            ready, _, _ = select.select(ends, [], [], max(0.0, patience - 0.0002))
            for end in ready:
                while True:
                    try:
                        frame, origin = end.recvfrom(65536)
                    except BlockingIOError:
                        break
                    if origin[2] == socket.PACKET_OUTGOING:
                        continue
                    forth = end is ends[0]
                    delay = self.way(frame, forth)
                    if delay is None:
                        continue
                    # Frames of one direction keep their order.
                    due = max(time.monotonic() + delay, last[forth])
                    last[forth] = due
                    count += 1
                    heapq.heappush(queue, (due, count, ends[1] if forth else ends[0], frame))
        for end in ends:
            end.close()

    def stop(self):
        self.running = False
        self.join()


def pure_ack(frame):
    if frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return False
    total = struct.unpack("!H", frame[16:18])[0]
    return total - 20 - (frame[46] >> 4) * 4 == 0 and frame[47] & 0x07 == 0
