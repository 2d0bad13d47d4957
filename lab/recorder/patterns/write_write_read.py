"""Patterns: one program writes twice and then reads."""

import socket
import struct
import threading
import time

from ..options import TCP_DELACK_MAX_US
from ..pattern import WWR, pattern
from ..play import play
from ..roles import ROUNDS, answerer, asker


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


@pattern(WWR, way=lambda frame, forth: 0.010)
def round_trip_only(lab, log):
    """Held for a round trip; the ACK is as prompt as can be."""
    play(lab, log, asker((100, 200), 300), answerer(300, (300,), quick=True))


@pattern("nagle-round-trip", truth="round-trip", way=lambda frame, forth: 0.045)
def vpn_late_acks(lab, log):
    play(lab, log, asker((100, 200), 300), answerer(300, (300,), quick=True))
