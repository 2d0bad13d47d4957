"""Patterns: floods, torn buffers, corks, odd segments, the first window."""

import socket
import time

from ..network import sh
from ..pattern import pattern
from ..play import play
from ..roles import ROUNDS, answerer, asker, bulk_connections, listener_to_stream, slow_to_acknowledge
from ..strict_nagle import strict


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
