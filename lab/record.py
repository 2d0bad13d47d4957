#!/usr/bin/env python3
"""Records the labelled corpus: captures of known patterns, with the truth from the
application's own log.

Two network namespaces are joined by a veth pair, or by a forwarder that delays, drops or holds
back frames. Each pattern plays a client and a server; every write and every read is logged with
the clock that also stamps the captures. A part of a message that arrived more than 20 ms (beyond
the path) after it was written, while its reader waited for it, is a stall; what it cost is the
difference. Patterns in which nobody waits, or in which something else is late, have none.

Needs root, iproute2, ethtool and tcpdump. Touches nothing but its own namespaces.

    record.py [--into FOLDER] [PATTERN...]

records all patterns, or those named, into corpus/ (rare kinds into corpus/rare/) or another folder. With TINYGRAM_CORPUS=FOLDER the
test judges that one: a recording it has never seen.
"""

import ctypes
import heapq
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../corpus")
LATE_NS = 20_000_000
TCP_QUICKACK = 12
TCP_CONGESTION = 13
TCP_DELACK_MAX_US = 46
SNAP = 96
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


class Log:
    """What the applications did, and what follows from it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.writes, self.reads, self.plays = [], [], []

    def wrote(self, who, start, length, at, awaited):
        with self.lock:
            self.writes.append((who, start, length, at, awaited))

    def read(self, who, total, at):
        with self.lock:
            self.reads.append((who, total, at))

    def stalls(self, path_ns, least_ns=None):
        """Awaited parts that came late; parts that came together count once.

        One way of the path is no stall, and neither is one round trip unless `least_ns` says so."""
        if least_ns is None:
            least_ns = LATE_NS + path_ns
        found = []
        for (connection, sender), start, length, at, awaited in self.writes:
            if not awaited:
                continue
            arrived = [
                t
                for (c, s), total, t in self.reads
                if (c, s) == (connection, sender) and total >= start + length
            ]
            if not arrived:
                continue
            late = min(arrived) - at - path_ns // 2
            if late > least_ns:
                found.append((connection, sender, at, min(arrived)))
        together = []
        for stall in sorted(found, key=lambda s: (s[0], s[1], s[2])):
            before = together[-1] if together else None
            if before and before[:2] == stall[:2] and abs(before[3] - stall[3]) < 1_000_000:
                continue
            together.append(stall)
        return [
            {
                "client_port": client_port(connection),
                "sender": sender,
                "written_ns": at,
                "read_ns": read,
                "cost_ms": (read - at - path_ns // 2) / 1e6,
            }
            for connection, sender, at, read in together
        ]

    def gaps(self, sender, least_ns):
        """Bulk: the reader, who always waits, saw nothing for this long."""
        found = []
        for connection in sorted({c for (c, s), _, _ in self.reads if s == sender}):
            times = sorted(t for (c, s), _, t in self.reads if (c, s) == (connection, sender))
            found += [
                {
                    "client_port": client_port(connection),
                    "sender": sender,
                    "written_ns": a,
                    "read_ns": b,
                    "cost_ms": (b - a) / 1e6,
                }
                for a, b in zip(times, times[1:])
                if b - a > least_ns
            ]
        return found


def client_port(connection):
    return connection[1] if isinstance(connection, tuple) else connection


class End:
    """A connected socket that logs what it does."""

    def __init__(self, log, connection, side, sock):
        self.log, self.key, self.sock = log, (connection, side), sock
        self.peer = (connection, "server" if side == "client" else "client")
        self.written = self.total = 0

    def write(self, length, awaited=True, flags=0):
        data = b"x" * length
        self.log.wrote(self.key, self.written, length, time.time_ns(), awaited)
        self.written += length
        self.sock.sendall(data, flags)

    def write_parts(self, *lengths):
        """One system call for several buffers."""
        self.log.wrote(self.key, self.written, sum(lengths), time.time_ns(), True)
        self.written += sum(lengths)
        self.sock.sendmsg([b"x" * n for n in lengths])

    def read(self, length, quickack=False):
        """True once `length` bytes were read, false at the end of the stream."""
        left = length
        while left:
            if quickack:
                self.sock.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, 1)
            try:
                got = self.sock.recv(left)
            except ConnectionResetError:
                return False
            if not got:
                return False
            left -= len(got)
            self.total += len(got)
            self.log.read(self.peer, self.total, time.time_ns())
        return True

    def option(self, name, value, level=socket.IPPROTO_TCP):
        self.sock.setsockopt(level, name, value)


def play(lab, log, client, server, v6=False, connections=1, port=7000, before=None, source=None):
    """Runs `server(End)` and `client(End)` on each of several connections at once."""
    family = socket.AF_INET6 if v6 else socket.AF_INET
    address = "fd77::2" if v6 else "10.77.0.2"
    listening = threading.Event()
    failures = []
    # Ports may be used again: a connection is its port in this play.
    number = len(log.plays)
    log.plays.append(port)

    def guarded(work, *args):
        try:
            work(*args)
        except Exception as error:  # the recording is void, whatever it was
            failures.append(error)
            listening.set()

    def serve():
        lab.b.enter()
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"reno")
        if before:
            before("server", listener)
        listener.bind((address, port))
        listener.listen(64)
        listening.set()
        workers = []
        for _ in range(connections):
            sock, origin = listener.accept()
            end = End(log, (number, origin[1]), "server", sock)
            workers.append(threading.Thread(target=guarded, args=(finish, server, end)))
            workers[-1].start()
        for worker in workers:
            worker.join()
        listener.close()

    def call(turn):
        lab.a.enter()
        listening.wait()
        time.sleep(0.01 * turn)
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"reno")
        if source:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("", source))
        if before:
            before("client", sock)
        sock.connect((address, port))
        end = End(log, (number, sock.getsockname()[1]), "client", sock)
        finish(client, end)

    def finish(work, end):
        work(end)
        end.sock.close()

    threads = [threading.Thread(target=guarded, args=(serve,))]
    threads += [threading.Thread(target=guarded, args=(call, n)) for n in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        if thread.is_alive():
            raise TimeoutError("a pattern did not end")
    if failures:
        raise failures[0]


class Capture:
    """tcpdump in a namespace, from `with` to its end."""

    def __init__(self, ns, interface, path, extra=""):
        self.command = (
            f"ip netns exec {ns.name} tcpdump -i {interface} -s {SNAP} -n -U"
            f" --immediate-mode {extra} -w {path} tcp"
        )

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command.split(), stderr=subprocess.PIPE, text=True
        )
        while "listening on" not in self.process.stderr.readline():
            pass
        self.begun = time.time_ns()
        time.sleep(0.2)
        return self

    def __exit__(self, *_):
        time.sleep(0.4)
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


# --- conversations ---------------------------------------------------------------------------

ROUNDS = 8


def asker(parts, answer, pause=0.01, rounds=ROUNDS, nodelay=False, quick=False, gather=False, between=0.0):
    """Writes `parts` one by one, then reads an answer, some rounds."""

    def work(end):
        if nodelay:
            end.option(socket.TCP_NODELAY, 1)
        for _ in range(rounds):
            if gather:
                end.write_parts(*parts)
            else:
                for number, part in enumerate(parts):
                    if number and between:
                        time.sleep(between)
                    end.write(part)
            end.read(answer, quickack=quick)
            time.sleep(pause)

    return work


def answerer(request, parts, nodelay=False, quick=False, think=0.0, between=0.0):
    """Reads a whole request, then writes its answer in `parts`."""

    def work(end):
        if nodelay:
            end.option(socket.TCP_NODELAY, 1)
        while end.read(request, quickack=quick):
            time.sleep(think)
            for number, part in enumerate(parts):
                if number and between:
                    time.sleep(between)
                end.write(part)

    return work


def streamer(size, period, count, nodelay=False):
    """Writes on a clock; nobody answers."""

    def work(end):
        if nodelay:
            end.option(socket.TCP_NODELAY, 1)
        end.read(10)
        due = time.monotonic()
        for _ in range(count):
            due += period
            time.sleep(max(0.0, due - time.monotonic()))
            end.write(size, awaited=False)

    return work


def listener_to_stream(size, count):
    def work(end):
        end.write(10)
        end.read(size * count)

    return work


def sink(total):
    def work(end):
        end.read(total)

    return work


def no_quickack(end):
    """Leaves the receiver's quick start (sixteen immediate ACKs)."""
    end.option(TCP_QUICKACK, 0)


# --- a sender with Nagle's original rule, which Linux no longer has ---------------------------


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


# --- patterns --------------------------------------------------------------------------------

PATTERNS, RARE = {}, set()


def pattern(kind=None, at="a", truth="late", rare=False, **lab):
    """Registers a pattern: the kind its stalls are, where it is captured, how its lab is built,
    and how the truth follows from the log ("late" parts, those held for a "round-trip", or "none").
    The rare kinds, and what only seems to be one of them, are kept in a folder of their own."""

    def register(function):
        name = function.__name__.replace("_", "-")
        PATTERNS[name] = (function, kind, at, truth, lab)
        if rare:
            RARE.add(name)
        return function

    return register


WWR = "write-write-read"


@pattern(WWR)
def wwr_client(lab, log):
    play(lab, log, asker((100, 200), 300), answerer(300, (300,)))


@pattern(WWR, at="b")
def wwr_client_far(lab, log):
    play(lab, log, asker((100, 200), 300), answerer(300, (300,)))


@pattern(WWR)
def wwr_client_v6(lab, log):
    play(lab, log, asker((46, 50), 20), answerer(96, (20,)), v6=True)


@pattern(WWR, at="b")
def wwr_server(lab, log):
    play(lab, log, asker((80,), 500, rounds=12), answerer(80, (200, 300)))


@pattern(WWR)
def wwr_server_far_v6(lab, log):
    play(lab, log, asker((80,), 500, rounds=12), answerer(80, (200, 300)), v6=True)


@pattern(WWR)
def wwr_both_sides(lab, log):
    play(lab, log, asker((60, 70), 90, rounds=10), answerer(130, (40, 50)))


@pattern(WWR)
def wwr_three_writes(lab, log):
    play(lab, log, asker((20, 30, 40), 50), answerer(90, (50,)))


@pattern(WWR, offload=False)
def wwr_no_offload(lab, log):
    play(lab, log, asker((100, 200), 300), answerer(300, (300,)))


@pattern(WWR, offload=False)
def wwr_long_first_write(lab, log):
    play(lab, log, asker((2996, 100), 50, rounds=12), answerer(3096, (50,)))


@pattern(WWR, at="any")
def wwr_cooked(lab, log):
    play(lab, log, asker((100, 200), 300), answerer(300, (300,)))


@pattern(WWR, mtu=9000)
def wwr_jumbo(lab, log):
    play(lab, log, asker((2000, 3000), 300), answerer(5000, (300,)))


@pattern(WWR, at="late")
def wwr_mid_connection(lab, log):
    play(lab, log, asker((100, 200), 300, rounds=14, pause=0.1), answerer(300, (300,)))


@pattern(WWR)
def wwr_many_connections(lab, log):
    play(lab, log, asker((100, 200), 300, rounds=4), answerer(300, (300,)), connections=8)


@pattern(WWR)
def wwr_among_clean(lab, log):
    clean = [True, False, True, True, False, True]
    lock = threading.Lock()

    def client(end):
        with lock:
            gather = clean.pop()
        asker((100, 200), 300, rounds=5, gather=gather)(end)

    play(lab, log, client, answerer(300, (300,)), connections=6)


@pattern(WWR)
def wwr_port_reuse(lab, log):
    for _ in range(3):
        def client(end):
            asker((100, 200), 300, rounds=3)(end)
            end.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        play(lab, log, client, answerer(300, (300,)), source=45678)
        time.sleep(0.1)


@pattern(WWR)
def wwr_keepalive(lab, log):
    def keepalive(_, sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)

    play(lab, log, asker((100, 200), 300, rounds=4, pause=1.3), answerer(300, (300,)), before=keepalive)


@pattern(WWR)
def wwr_short_ack_timer(lab, log):
    def server(end):
        end.option(TCP_DELACK_MAX_US, 28_000)
        answerer(300, (300,))(end)

    play(lab, log, asker((100, 200), 300), server)


@pattern(WWR, way=lambda frame, forth: 0.010)
def wwr_rtt20(lab, log):
    play(lab, log, asker((100, 200), 300), answerer(300, (300,)))


@pattern(WWR, at="b", way=lambda frame, forth: 0.010)
def wwr_rtt20_far(lab, log):
    play(lab, log, asker((100, 200), 300, rounds=14), answerer(300, (300,)))


@pattern(WWR)
def pipelined_answers(lab, log):
    """Two requests in one segment, answered by two writes (SMTP's RCPT and DATA)."""

    def client(end):
        for _ in range(ROUNDS):
            end.write(70)
            end.read(42 + 46)
            time.sleep(0.01)

    play(lab, log, client, answerer(70, (42, 46)))


def pure_ack(frame):
    if frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return False
    total = struct.unpack("!H", frame[16:18])[0]
    return total - 20 - (frame[46] >> 4) * 4 == 0 and frame[47] & 0x07 == 0


@pattern(WWR, way=lambda frame, forth: 0.010)
def round_trip_only(lab, log):
    """Held for a round trip; the ACK is as prompt as can be."""
    play(lab, log, asker((100, 200), 300), answerer(300, (300,), quick=True))


@pattern("nagle-round-trip", truth="round-trip", way=lambda frame, forth: 0.045)
def vpn_late_acks(lab, log):
    play(lab, log, asker((100, 200), 300), answerer(300, (300,), quick=True))


@pattern(truth="none", at="b", way=lambda frame, forth: 0.050)
def round_trip_nobody_answers(lab, log):
    """Held as long, but nobody answers: it is the writer's clock that goes on."""

    def writer(end):
        end.read(10)
        for _ in range(8):
            end.write(60, awaited=False)
            end.write(500, awaited=False)
            time.sleep(0.3)

    play(lab, log, listener_to_stream(560, 8), writer)


@pattern(truth="none")
def slow_server_only(lab, log):
    """The server answers later than its ACK timer, and the client writes once: nothing is held."""
    play(lab, log, asker((40,), 40, rounds=12, pause=0.05), answerer(40, (40,), think=0.12))


@pattern(truth="none")
def slow_file(lab, log):
    """A header, and a body that is read from a slow disk for 200 ms: no cork, no small window."""

    def server(end):
        end.option(socket.TCP_NODELAY, 1)
        while end.read(80):
            end.write(2896)
            time.sleep(0.205 + 0.03 * random.random())
            end.write(9000)

    play(lab, log, asker((80,), 11_896, rounds=6), server)


@pattern(truth="none", way=lambda frame, forth: 0.060 if pure_ack(frame) and not forth else 0.0)
def middlebox_late_acks(lab, log):
    """Every ACK of the server is 60 ms late on the way, also those of two full segments."""
    def client(end):
        end.write(40_000)
        end.read(300)
        for _ in range(ROUNDS):
            end.write(5_000)
            end.read(300)
            time.sleep(0.01)

    def server(end):
        end.read(40_000, quickack=True)
        end.write(300)
        answerer(5_000, (300,), quick=True)(end)

    play(lab, log, client, server)


@pattern(WWR)
def clean_nodelay(lab, log):
    play(lab, log, asker((100, 200), 300, nodelay=True), answerer(300, (300,)))


@pattern(WWR)
def clean_writev(lab, log):
    play(lab, log, asker((100, 200), 300, gather=True), answerer(300, (300,)))


@pattern(WWR)
def clean_quickack(lab, log):
    play(lab, log, asker((100, 200), 300), answerer(300, (300,), quick=True))


@pattern(WWR)
def clean_quickack_route(lab, log):
    sh(f"ip -n {lab.b.name} route change 10.77.0.0/24 dev vb quickack 1")
    play(lab, log, asker((100, 200), 300), answerer(300, (300,)))


@pattern(truth="none")
def clean_bulk(lab, log):
    def client(end):
        end.write(300_000)
        end.read(10)

    play(lab, log, client, answerer(300_000, (10,)))


@pattern(WWR)
def clean_idle_acks(lab, log):
    """Every answer leaves a delayed ACK behind; nobody has anything to send meanwhile."""
    play(lab, log, asker((100,), 300, pause=0.2), answerer(100, (300,)))


@pattern(truth="none")
def periodic_20ms(lab, log):
    play(lab, log, listener_to_stream(48, 60), streamer(48, 0.020, 60))


@pattern(truth="none", at="b")
def periodic_15ms_near(lab, log):
    play(lab, log, listener_to_stream(48, 60), streamer(48, 0.015, 60))


@pattern(truth="none")
def periodic_60ms(lab, log):
    play(lab, log, listener_to_stream(54, 30), streamer(54, 0.060, 30))


@pattern(truth="none")
def periodic_41ms_nodelay(lab, log):
    """The period is the ACK timer's: every segment follows an ACK closely, and by accident."""
    play(lab, log, listener_to_stream(48, 40), streamer(48, 0.041, 40, nodelay=True))


@pattern(truth="none", at="b")
def periodic_with_heartbeat(lab, log):
    """The reader speaks now and then, on a clock of its own."""

    def reader(end):
        end.write(10)
        for _ in range(6):
            end.read(48 * 10)
            end.write(4, awaited=False)

    def writer(end):
        streamer(48, 0.020, 60)(end)
        end.read(24)

    play(lab, log, reader, writer)


@pattern(truth="none")
def think_time(lab, log):
    """The second half of the answer is computed for 70 ms."""
    play(lab, log, asker((80,), 500), answerer(80, (200, 300), nodelay=True, between=0.070))


@pattern(truth="none")
def think_time_slow_server(lab, log):
    play(lab, log, asker((80,), 200), answerer(80, (200,), think=0.045))


@pattern(truth="none")
def zero_window(lab, log):
    def small(side, sock):
        if side == "server":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)

    def client(end):
        end.write(60_000)
        end.read(10)

    def server(end):
        for _ in range(6):
            time.sleep(0.15)
            end.read(10_000)
        end.write(10)

    play(lab, log, client, server, before=small)


class LoseSome:
    """Drops every ninth data frame."""

    def __init__(self):
        self.count = 0

    def __call__(self, frame, forth):
        if forth and len(frame) > 120:
            self.count += 1
            if self.count % 9 == 0:
                return None
        return 0.0005


@pattern(truth="none", way=LoseSome())
def loss(lab, log):
    play(lab, log, asker((300,), 300, rounds=40, pause=0.002), answerer(300, (300,)))


@pattern(truth="none")
def one_way_push(lab, log):
    """Header and body apart, each event; the reader never answers."""

    def writer(end):
        end.read(10)
        for _ in range(10):
            end.write(8, awaited=False)
            end.write(60, awaited=False)
            time.sleep(0.3)

    play(lab, log, listener_to_stream(68, 10), writer)


@pattern("tinygram-flood", truth="flood")
def flood_nodelay(lab, log):
    play(lab, log, asker((50,) * 30, 100, nodelay=True, rounds=10), answerer(1500, (100,)))


@pattern("tinygram-flood", truth="flood", at="b")
def flood_server(lab, log):
    def server(end):
        end.option(socket.TCP_NODELAY, 1)
        end.read(10)
        for _ in range(400):
            end.write(27, awaited=False)
            time.sleep(0.002)

    play(lab, log, listener_to_stream(27, 400), server)


@pattern("buffer-tearing", offload=False)
def buffer_tearing(lab, log):
    def client(end):
        for _ in range(ROUNDS):
            end.write(4096)
            end.write(4)
            end.read(50)
            time.sleep(0.01)

    play(lab, log, client, answerer(4100, (50,)))


@pattern("cork-held")
def cork_held(lab, log):
    def client(end):
        end.option(socket.TCP_NODELAY, 1)
        end.option(socket.TCP_CORK, 1)
        for _ in range(6):
            end.write(2900)
            end.write(100)
            end.read(50)
            time.sleep(0.01)

    play(lab, log, client, answerer(3000, (50,)))


@pattern(truth="none")
def cork_uncorked(lab, log):
    def client(end):
        for _ in range(ROUNDS):
            end.option(socket.TCP_CORK, 1)
            end.write(2900)
            end.write(100)
            end.option(socket.TCP_CORK, 0)
            end.read(50)
            time.sleep(0.01)

    play(lab, log, client, answerer(3000, (50,)))


@pattern("odd-full-short-final", offload=False)
def odd_full_short_final(lab, log):
    strict(lab, log, 3 * 1460 + 100, 8)


@pattern("odd-full-short-final", offload=False, at="b")
def odd_full_short_final_far(lab, log):
    strict(lab, log, 1460 + 700, 10)


@pattern(truth="none", offload=False)
def even_full_short_final(lab, log):
    strict(lab, log, 4 * 1460 + 100, 8)


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


def slow_to_acknowledge(side, sock):
    if side == "server":
        sock.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, 0)


def bulk_connections(lab, log, sizes, count, before=slow_to_acknowledge):
    """Short connections that send a message each and read an answer."""
    for _ in range(count):
        def client(end):
            time.sleep(0.02)  # the server leaves quick ACKs first
            for size in sizes:
                end.write(size)
            end.read(20)

        def server(end):
            no_quickack(end)
            left = sum(sizes)
            while left:
                no_quickack(end)
                got = end.sock.recv(min(left, 65536))
                left -= len(got)
                end.total += len(got)
                log.read(end.peer, end.total, time.time_ns())
            end.write(20)

        play(lab, log, client, server, before=before)


@pattern("slow-start-delayed-ack", truth="gaps", offload=False)
def slow_start_delayed_ack(lab, log):
    sh(f"ip -n {lab.a.name} route change 10.77.0.0/24 dev va initcwnd 1")
    sh(f"ip -n {lab.a.name} tcp_metrics flush all")
    bulk_connections(lab, log, (10_000,), 5)


@pattern("short-initial-segment", truth="gaps", offload=False)
def short_initial_segment(lab, log):
    sh(f"ip -n {lab.a.name} route change 10.77.0.0/24 dev va initcwnd 1")
    sh(f"ip -n {lab.a.name} tcp_metrics flush all")
    bulk_connections(lab, log, (200, 10_000), 5)


@pattern("small-buffer", offload=False)
def small_send_buffer(lab, log):
    """A send buffer of one segment: what leaves fills it until it is acknowledged."""
    strict(lab, log, 1460 * 3, 8, buffer=1460)


@pattern("small-buffer", truth="gaps", mtu=9000, offload=False, rare=True)
def small_send_buffer_jumbo(lab, log):
    """SO_SNDBUF of a few thousand bytes and segments of nine thousand: one fills it."""
    sh(f"ip -n {lab.a.name} link set dev va gso_max_segs 1")

    def before(side, sock):
        slow_to_acknowledge(side, sock)
        if side == "client":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    bulk_connections(lab, log, (120_000,), 2, before)


@pattern("small-buffer", truth="gaps", mtu=9000, offload=False, at="b", rare=True)
def small_send_buffer_jumbo_far(lab, log):
    small_send_buffer_jumbo(lab, log)


@pattern(truth="none", rare=True)
def block_by_block(lab, log):
    """The program sends a block and waits for the other's word; no buffer is small."""
    play(lab, log, asker((4096,), 8, pause=0, rounds=12), answerer(4096, (8,), think=0.045))


@pattern(truth="none", offload=False, rare=True)
def periodic_41ms_full(lab, log):
    """Full segments on a clock whose period is the ACK timer's."""
    play(lab, log, listener_to_stream(1448, 40), streamer(1448, 0.041, 40, nodelay=True))


@pattern(truth="none", at="b", rare=True)
def more_until_the_ack(lab, log):
    """Each answer is said not to be the last (MSG_MORE); what is acknowledged lets its tail go, and no timer."""

    def server(end):
        while end.read(80):
            end.write(1448 * 2 + 300, flags=socket.MSG_MORE)

    play(lab, log, asker((80,), 1448 * 2 + 300, rounds=6), server)


@pattern("cork-held", at="b", rare=True)
def cork_held_server(lab, log):
    """The last piece of each answer stays behind a cork."""

    def server(end):
        end.option(socket.TCP_CORK, 1)
        while end.read(80):
            end.write(1448 * 2 + 300)

    play(lab, log, asker((80,), 1448 * 2 + 300, rounds=6), server)


@pattern("cork-held", way=lambda frame, forth: 0.010, rare=True)
def cork_held_server_far(lab, log):
    def server(end):
        end.option(socket.TCP_CORK, 1)
        while end.read(80):
            end.write(1448)
            end.write(700)

    play(lab, log, asker((80,), 2148, rounds=6), server)


@pattern(truth="none", rare=True)
def slow_tail(lab, log):
    """The end of each answer is read from somewhere else, 200 ms later, to the millisecond."""
    play(lab, log, asker((80,), 3100, rounds=8), answerer(80, (3000, 100), nodelay=True, between=0.204))


@pattern(truth="none", rare=True)
def slow_tail_behind_a_segment(lab, log):
    """The same behind a write that is a full segment, as if by a cork."""
    play(lab, log, asker((80,), 1548, rounds=8), answerer(80, (1448, 100), nodelay=True, between=0.204))


@pattern(truth="none", way=lambda frame, forth: 0.010, rare=True)
def slow_tail_far(lab, log):
    def server(end):
        end.option(socket.TCP_NODELAY, 1)
        while end.read(80):
            end.write(2896)
            time.sleep(0.2 + 0.06 * random.random())
            end.write(100)

    play(lab, log, asker((80,), 2996, rounds=8), server)


@pattern(truth="none", offload=False, rare=True)
def header_then_file(lab, log):
    """A header at once, the file when the disk has it, as long as a delayed ACK takes; no window is small."""

    def server(end):
        end.option(socket.TCP_NODELAY, 1)
        end.read(80)
        end.write(200)
        time.sleep(0.0405)
        end.write(9_000)

    for _ in range(6):
        play(lab, log, asker((80,), 9_200, rounds=1), server)


@pattern(truth="none", offload=False, rare=True)
def first_block_then_more(lab, log):
    """One full segment, and what grows behind it as from a small window: the program's own pace."""

    def client(end):
        for count in (1, 2, 3, 4):
            end.write(1448 * count)
            time.sleep(0.0405)
        end.read(20)

    for _ in range(6):
        play(lab, log, client, answerer(1448 * 10, (20,)), before=slow_to_acknowledge)


@pattern("slow-start-delayed-ack", truth="gaps", offload=False, at="b", rare=True)
def slow_start_delayed_ack_far(lab, log):
    slow_start_delayed_ack(lab, log)


@pattern("short-initial-segment", truth="gaps", offload=False, at="b", rare=True)
def short_initial_segment_far(lab, log):
    short_initial_segment(lab, log)


@pattern("tinygram-flood", truth="flood", rare=True)
def flood_among_large(lab, log):
    """Runs of single bytes between large answers."""

    def server(end):
        end.option(socket.TCP_NODELAY, 1)
        while end.read(40):
            for _ in range(60):
                end.write(1, awaited=False)
                time.sleep(0.0005)
            end.write(30_000, awaited=False)

    play(lab, log, asker((40,), 30_060, rounds=6), server)


@pattern(truth="none", rare=True)
def typing(lab, log):
    """Somebody types into a shell: single bytes and their echoes."""

    def client(end):
        end.option(socket.TCP_NODELAY, 1)
        for _ in range(80):
            end.write(36, awaited=False)
            end.read(36)
            time.sleep(0.02 + 0.06 * random.random())

    play(lab, log, client, answerer(36, (36,), nodelay=True))


@pattern(truth="none", rare=True)
def many_small_questions(lab, log):
    """Small questions one after the other, each answered before the next."""
    play(lab, log, asker((20,), 20, pause=0, rounds=120), answerer(20, (20,)))


@pattern("idle-restart", truth="restart", way=lambda frame, forth: 0.015)
def idle_restart(lab, log):
    after_idle(lab, log)


@pattern(truth="none", way=lambda frame, forth: 0.015)
def idle_no_restart(lab, log):
    lab.a.exec("sysctl -q net.ipv4.tcp_slow_start_after_idle=0")
    after_idle(lab, log)


def after_idle(lab, log):
    size = 90_000

    def client(end):
        for _ in range(4):
            end.write(size, awaited=False)
            end.read(10)
        for _ in range(3):
            time.sleep(0.9)
            end.write(size)
            end.read(10)

    play(lab, log, client, answerer(size, (10,)))


# By somebody who had not read the rules.


def buffers(**sizes):
    """Socket buffers before the connection: server_rcv=..., client_snd=..."""

    def before(side, sock):
        for name, size in sizes.items():
            if name.startswith(side):
                option = socket.SO_RCVBUF if name.endswith("rcv") else socket.SO_SNDBUF
                sock.setsockopt(socket.SOL_SOCKET, option, size)

    return before


def first_window(lab, host, segments):
    """The first window of whoever sends from this host."""
    end = "a" if host is lab.a else "b"
    sh(f"ip -n {host.name} route change 10.77.0.0/24 dev v{end} initcwnd {segments}")


def uploader(total, block, greeting=0):
    """Reads a greeting, writes blocks as fast as the socket takes them, reads a receipt."""

    def work(end):
        end.read(greeting)
        for at in range(0, total, block):
            end.write(min(block, total - at))
        end.read(10)

    return work


def slow_acker(total):
    """Greets, as mail and file servers do, reads everything, and is never in its quick start."""

    def work(end):
        no_quickack(end)
        end.write(20)
        left = total
        while left:
            no_quickack(end)
            size = min(left, 1000)
            if not end.read(size):
                return
            left -= size
        end.write(10)

    return work


# What is there.


@pattern("small-buffer", truth="gaps", rare=True, mtu=9000, offload=False)
def backup_little_send_buffer_jumbo(lab, log):
    """A backup over jumbo frames; its SO_SNDBUF was set in the days of 1500."""
    play(lab, log, uploader(400_000, 8_000, 20), slow_acker(400_000), before=buffers(client_snd=4096))


@pattern("small-buffer", truth="gaps", at="b", rare=True, offload=False)
def log_shipper_least_send_buffer(lab, log):
    """A log shipper that asks for the smallest send buffer there is. It holds two segments after all."""
    play(lab, log, uploader(40_000, 4_000, 20), slow_acker(40_000), before=buffers(client_snd=1))


@pattern("small-buffer", truth="gaps", rare=True, mtu=9000, offload=False)
def receive_buffer_of_a_jumbo(lab, log):
    """The receiver of jumbo frames has room for one; Linux then sends halves, and nobody waits."""
    play(lab, log, uploader(120_000, 8_000, 20), slow_acker(120_000), before=buffers(server_rcv=9000))


@pattern("small-buffer", truth="gaps", at="b", rare=True, mtu=9000, offload=False)
def mirror_little_send_buffer(lab, log):
    """A mirror writes 8,900 bytes at a time into a send buffer of less than one jumbo frame."""
    play(lab, log, uploader(356_000, 8_900, 20), slow_acker(356_000), before=buffers(client_snd=3000))


@pattern("small-buffer", truth="gaps", rare=True, offload=False)
def records_least_send_buffer(lab, log):
    """Short records with TCP_NODELAY: the least send buffer holds a handful, enough for an ACK."""
    upload = uploader(6_000, 100, 20)

    def client(end):
        end.option(socket.TCP_NODELAY, 1)
        upload(end)

    play(lab, log, client, slow_acker(6_000), before=buffers(client_snd=1))


@pattern("small-buffer", truth="gaps", at="b", rare=True, way=lambda frame, forth: 0.010)
def records_least_send_buffer_far(lab, log):
    """The same over 20 ms, seen at the reader."""
    upload = uploader(3_000, 100, 20)

    def client(end):
        end.option(socket.TCP_NODELAY, 1)
        upload(end)

    play(lab, log, client, slow_acker(3_000), before=buffers(client_snd=1))


@pattern("cork-held", rare=True)
def request_left_corked(lab, log):
    """A client corks its request's lines and forgets the cork; the answer comes at once."""

    def client(end):
        end.option(socket.TCP_CORK, 1)
        for _ in range(6):
            for line in (60, 35, 40, 2):
                end.write(line)
            end.read(2_000)
            time.sleep(0.03)

    play(lab, log, client, answerer(137, (2_000,)))


@pattern("cork-held", at="b", rare=True, way=lambda frame, forth: 0.015)
def database_says_more_far(lab, log):
    """A database sends its rows with MSG_MORE, the last one too."""

    def server(end):
        while end.read(120):
            for _ in range(4):
                end.write(300, flags=socket.MSG_MORE)

    play(lab, log, asker((120,), 1_200, rounds=6, pause=0.05), server)


@pattern("cork-held", rare=True, mtu=9000)
def file_left_corked_jumbo(lab, log):
    """Header and file under one cork, which is pulled after every second file only."""

    def server(end):
        turn = 0
        while end.read(90):
            end.option(socket.TCP_CORK, 1)
            end.write(250)
            end.write(30_000)
            turn += 1
            if turn % 2:
                end.option(socket.TCP_CORK, 0)

    play(lab, log, asker((90,), 30_250, rounds=8, pause=0.05), server)


@pattern("short-initial-segment", rare=True, offload=False)
def header_alone_first_window(lab, log):
    """HTTP on new connections: the header fills a first window of one segment."""
    first_window(lab, lab.b, 1)

    def client(end):
        end.write(100)
        no_quickack(end)
        end.read(6_280)

    play(lab, log, client, answerer(100, (280, 6_000)), connections=5)


@pattern("short-initial-segment", at="b", rare=True, offload=False)
def header_alone_after_idle(lab, log):
    """Persistent HTTP: the window is one segment again after a pause, and the header has it."""
    first_window(lab, lab.b, 1)

    def client(end):
        for _ in range(5):
            no_quickack(end)
            end.write(100)
            no_quickack(end)
            end.read(9_280)
            time.sleep(1.6)

    play(lab, log, client, answerer(100, (280, 9_000), nodelay=True))


@pattern("slow-start-delayed-ack", truth="gaps", at="b", rare=True, offload=False)
def upload_first_window_of_one(lab, log):
    """Photographs, each on a connection of its own; the route's first window is one segment."""
    first_window(lab, lab.a, 1)
    play(lab, log, uploader(20_000, 20_000, 20), slow_acker(20_000), connections=4)


@pattern("slow-start-delayed-ack", rare=True, offload=False, way=lambda frame, forth: 0.012)
def answer_first_window_of_one_far(lab, log):
    """A page of many segments from a host whose first window is one; 24 ms away."""
    first_window(lab, lab.b, 1)

    def client(end):
        end.write(100)
        no_quickack(end)
        end.read(2_800)

    play(lab, log, client, answerer(100, (2_800,)), connections=5)


@pattern("tinygram-flood", truth="flood", at="b", rare=True)
def world_update_flood(lab, log):
    """A game server writes every thing's place by itself, forty in a row, twenty times a second."""

    def server(end):
        end.option(socket.TCP_NODELAY, 1)
        end.read(20)
        for _ in range(30):
            for _ in range(40):
                end.write(24, awaited=False)
            time.sleep(0.05)

    def client(end):
        end.write(20)
        end.read(24 * 40 * 30)

    play(lab, log, client, server)


@pattern("tinygram-flood", truth="flood", rare=True)
def log_lines_flood(lab, log):
    """A log shipper empties its queue line by line, with TCP_NODELAY."""

    def client(end):
        end.option(socket.TCP_NODELAY, 1)
        for _ in range(6):
            for _ in range(60):
                end.write(random.randrange(70, 130), awaited=False)
                time.sleep(0.0001)
            time.sleep(0.4)
        end.sock.shutdown(socket.SHUT_WR)
        end.read(10)

    def server(end):
        while end.read(1):
            pass
        end.write(10)

    play(lab, log, client, server)


@pattern("tinygram-flood", truth="flood", rare=True, mtu=9000)
def header_lines_flood(lab, log):
    """A web server writes its header's lines one by one, with TCP_NODELAY."""
    lines = [random.randrange(15, 60) for _ in range(24)]
    play(lab, log, asker((300,), sum(lines) + 700, rounds=12, pause=0.03),
         answerer(300, (*lines, 700), nodelay=True))


# What only seems to be there.


@pattern(truth="none", rare=True, offload=False)
def media_by_the_clock(lab, log):
    """Seven TS packets, one segment, every 40 ms: a streamer's clock and nobody's ACK."""
    play(lab, log, listener_to_stream(1_448, 60), streamer(1_448, 0.040, 60))


@pattern(truth="none", rare=True, at="b", mtu=9000, offload=False)
def slow_disk_blocks_jumbo(lab, log):
    """A file server reads a segment's worth from its disk in some 43 ms, and sends it."""

    def server(end):
        while end.read(60):
            for _ in range(12):
                time.sleep(0.040 + 0.005 * random.random())
                end.write(8_948)

    play(lab, log, asker((60,), 8_948 * 12, rounds=3, pause=0.1), server)


@pattern(truth="none", rare=True, offload=False)
def blocks_with_receipts(lab, log):
    """A backup of one block at a time: each is on the disk, 41 ms later, before the next is asked for."""

    def client(end):
        for _ in range(25):
            end.write(1_448)
            end.read(8)

    def server(end):
        while end.read(1_448):
            time.sleep(0.041)
            end.write(8)

    play(lab, log, client, server)


class Bottleneck:
    """A link on which a full segment takes 40 ms."""

    def __init__(self):
        self.free = 0.0

    def __call__(self, frame, forth):
        if not forth or len(frame) < 1000:
            return 0.002
        now = time.monotonic()
        self.free = max(now, self.free) + 0.040
        return self.free - now


@pattern(truth="none", rare=True, at="b", way=Bottleneck())
def narrow_link(lab, log):
    """One segment at a time because the link is narrow; seen behind it."""
    play(lab, log, uploader(60_000, 60_000), answerer(60_000, (10,)))


@pattern(truth="none", rare=True, offload=False)
def player_reads_by_the_clock(lab, log):
    """A player with a full buffer takes a segment's worth every 40 ms: the window is its pace."""

    def client(end):
        end.write(1_448 * 60, awaited=False)
        end.read(10)

    def server(end):
        for _ in range(60):
            time.sleep(0.040)
            end.read(1_448)
        end.write(10)

    play(lab, log, client, server, before=buffers(server_rcv=8192))


@pattern(truth="none", rare=True, offload=False)
def paced_by_the_socket(lab, log):
    """SO_MAX_PACING_RATE lets five segments go every 200 ms."""

    def client(end):
        end.sock.setsockopt(socket.SOL_SOCKET, 47, 36_000)
        end.write(1_448 * 30, awaited=False)
        end.read(10)

    play(lab, log, client, answerer(1_448 * 30, (10,)))


class LastIsLost:
    """Loses the short last segment of each answer once."""

    def __init__(self):
        self.seen = set()

    def __call__(self, frame, forth):
        if not forth and 200 < len(frame) < 1000:
            sequence = frame[38:42]
            if sequence not in self.seen:
                self.seen.add(sequence)
                return None
        return 0.001


@pattern(truth="none", rare=True, way=LastIsLost())
def lost_tail(lab, log):
    """The last segment comes 200 ms late because it was lost before it could be seen."""
    play(lab, log, asker((100,), 3_300, rounds=6, pause=0.05), answerer(100, (3_300,)))


@pattern(truth="none", rare=True, offload=False)
def sensor_every_200ms(lab, log):
    """A sensor's full record and, when its clock strikes 200 ms, the short one."""

    def client(end):
        end.option(socket.TCP_NODELAY, 1)
        due = time.monotonic()
        for turn in range(24):
            end.write(300 if turn % 2 else 2_896)
            due += 0.200
            time.sleep(max(0.0, due - time.monotonic()))
        end.read(10)

    play(lab, log, client, answerer((300 + 2_896) * 12, (10,)))


@pattern(truth="none", rare=True, offload=False)
def header_before_the_body_is_there(lab, log):
    """HTTP on new connections: the header is flushed, the body is computed for 41 ms."""

    def server(end):
        end.read(100)
        end.write(280)
        time.sleep(0.0405 + 0.002 * random.random())
        end.write(6_000)

    def client(end):
        end.write(100)
        no_quickack(end)
        end.read(6_280)

    play(lab, log, client, server, connections=5)


@pattern(truth="none", rare=True, at="b", way=lambda frame, forth: 0.020)
def proxy_header_first_far(lab, log):
    """A proxy hands on what it has; its own server is a round trip of 40 ms behind the header."""

    def server(end):
        end.option(socket.TCP_NODELAY, 1)
        while end.read(100):
            end.write(280)
            time.sleep(0.0395 + 0.006 * random.random())
            end.write(6_000)

    play(lab, log, asker((100,), 6_280, rounds=5, pause=0.5), server)


@pattern(truth="none", rare=True, at="b", way=lambda frame, forth: 0.020)
def first_window_of_one_prompt_acks(lab, log):
    """A first window of one and a path of 40 ms: every ACK is prompt, the path is long."""
    first_window(lab, lab.a, 1)

    def server(end):
        end.read(20_000, quickack=True)
        end.write(10)

    play(lab, log, uploader(20_000, 20_000), server, connections=4)


@pattern(truth="none", rare=True, offload=False)
def picture_grows(lab, log):
    """A picture is drawn coarse, then finer, then fine; each takes its 40 ms: no window grows."""

    def server(end):
        end.read(100)
        for segments in (1, 2, 4, 7):
            end.write(1_448 * segments)
            time.sleep(0.040 + 0.004 * random.random())

    def client(end):
        end.write(100)
        no_quickack(end)
        end.read(1_448 * 14)

    play(lab, log, client, server, connections=4)


@pattern(truth="none", rare=True)
def market_ticks(lab, log):
    """Prices as they change, a few milliseconds apart: none could have waited for the next."""

    def server(end):
        end.option(socket.TCP_NODELAY, 1)
        end.read(20)
        for _ in range(400):
            time.sleep(random.uniform(0.002, 0.009))
            end.write(random.randrange(30, 60), awaited=False)

    def client(end):
        end.write(20)
        while end.read(1):
            pass

    play(lab, log, client, server)


@pattern(truth="none", rare=True, at="b", way=lambda frame, forth: 0.050)
def typing_far(lab, log):
    """ssh over 100 ms: a key every 40 to 250 ms, each echoed."""

    def client(end):
        end.option(socket.TCP_NODELAY, 1)

        def echoes():
            end.read(36 * 40)

        reader = threading.Thread(target=echoes)
        reader.start()
        for _ in range(40):
            time.sleep(random.uniform(0.04, 0.25))
            end.write(36, awaited=False)
        reader.join()

    play(lab, log, client, answerer(36, (36,), nodelay=True))


@pattern(truth="none", rare=True, offload=False)
def backup_with_pauses(lab, log):
    """A backup reads, packs for some 40 ms or 200 ms, sends an odd number of full segments."""

    def client(end):
        for turn in range(20):
            end.write(1_448 * (1 + 2 * (turn % 3)))
            time.sleep(0.2 if turn % 5 == 4 else 0.0415)
        end.sock.shutdown(socket.SHUT_WR)
        end.read(10)

    def server(end):
        while end.read(1_448):
            pass
        end.write(10)

    play(lab, log, client, server)


# --- recording -------------------------------------------------------------------------------


def truth_of(name, how, kind, log, path_ns):
    if how == "late":
        stalls = log.stalls(path_ns)
    elif how == "round-trip":
        stalls = log.stalls(path_ns, path_ns * 7 // 10)
    elif how == "gaps":
        stalls = log.gaps("client", LATE_NS + path_ns)
    elif how == "restart":
        stalls = restarts(log, path_ns)
    else:
        stalls = []
    for stall in stalls:
        stall["kind"] = kind
    return {"pattern": name, "stalls": stalls, "floods": int(how == "flood")}


def restarts(log, path_ns):
    """The first silence of a round trip behind each awaited message's beginning."""
    found = []
    for key, start, length, at, awaited in log.writes:
        if not awaited or key[1] != "client":
            continue
        times = [t for k, total, t in log.reads if k == key and start < total <= start + length]
        gaps = [(b - a, a, b) for a, b in zip(times, times[1:]) if b - a > path_ns / 2]
        if gaps:
            _, a, b = gaps[0]
            found.append(
                {
                    "client_port": client_port(key[0]),
                    "sender": "client",
                    "written_ns": a,
                    "read_ns": b,
                    "cost_ms": (b - a) / 1e6,
                }
            )
    return found


def record(name, folder):
    function, kind, at, how, options = PATTERNS[name]
    lab, log = Lab(**options), Log()
    path = os.path.join(folder, f"{name}.pcap")
    way = options.get("way")
    path_ns = 0
    if way and kind:
        path_ns = int(2e9 * way(b"\0" * 60, True))
    try:
        if at == "late":
            player = threading.Thread(target=function, args=(lab, log))
            player.start()
            time.sleep(0.75)
            with Capture(lab.a, "va", path) as capture:
                player.join()
            log.writes = [w for w in log.writes if w[3] > capture.begun]
        else:
            where = {"a": (lab.a, "va"), "b": (lab.b, "vb"), "any": (lab.a, "any")}[at]
            with Capture(*where, path):
                function(lab, log)
    finally:
        lab.close()
    truth = truth_of(name, how, kind, log, path_ns)
    truth["captured"] = {"a": "client", "b": "server"}.get(at, "client")
    truth["bytes"] = os.path.getsize(path)
    return truth


def main():
    # The logs should tell of the network and not of this machine's scheduler.
    os.setpriority(os.PRIO_PROCESS, 0, -15)
    arguments = sys.argv[1:]
    folder = CORPUS
    if arguments[:1] == ["--into"]:
        folder, arguments = arguments[1], arguments[2:]
        os.makedirs(folder, exist_ok=True)
    names = arguments or list(PATTERNS)
    for into, chosen in ((folder, [n for n in names if n not in RARE]),
                         (os.path.join(folder, "rare"), [n for n in names if n in RARE])):
        if chosen:
            os.makedirs(into, exist_ok=True)
            record_all(chosen, into)


def record_all(names, folder):
    """Records these into a folder, and their truth beside what it holds already."""
    file = os.path.join(folder, "truth.json")
    known = {}
    if os.path.exists(file):
        with open(file) as handle:
            known = {t["pattern"]: t for t in json.load(handle)}
    for name in names:
        known[name] = record(name, folder)
        with open(file, "w") as handle:
            json.dump(list(known.values()), handle, indent=1)
        truth = known[name]
        costs = ", ".join(f"{s['cost_ms']:.1f}" for s in truth["stalls"])
        print(f"{name}: {len(truth['stalls'])} stalls [{costs}], {truth['bytes']} bytes", flush=True)
    ordered = [known[name] for name in PATTERNS if name in known]
    with open(file, "w") as handle:
        json.dump(ordered, handle, indent=1)
        handle.write("\n")


if __name__ == "__main__":
    main()
