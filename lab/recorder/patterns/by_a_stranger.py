"""Patterns by somebody who had not read the rules: what is there."""

import random
import socket
import time

from ..pattern import pattern
from ..play import play
from ..roles import answerer, asker, buffers, first_window, no_quickack, slow_acker, uploader


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
