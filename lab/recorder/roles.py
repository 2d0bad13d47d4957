"""What clients and servers do in more than one pattern."""

import socket
import time

from .network import sh
from .options import TCP_QUICKACK
from .play import play

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
