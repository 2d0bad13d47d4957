"""Patterns without a stall, and those that only look like one."""

import random
import socket
import time

from ..network import pure_ack, sh
from ..pattern import WWR, pattern
from ..play import play
from ..roles import ROUNDS, answerer, asker, listener_to_stream, streamer


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
