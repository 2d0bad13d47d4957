"""Patterns: rare kinds, and what only seems to be one of them."""

import random
import socket
import time

from ..pattern import pattern
from .other_kinds import short_initial_segment, slow_start_delayed_ack
from ..play import play
from ..roles import answerer, asker, listener_to_stream, slow_to_acknowledge, streamer


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
