"""Plays a client and a server, each of which logs what it does."""

import socket
import threading
import time

from .options import TCP_CONGESTION, TCP_QUICKACK


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
