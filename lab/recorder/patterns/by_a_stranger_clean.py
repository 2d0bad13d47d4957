"""Patterns by somebody who had not read the rules: what only seems to be there."""

import random
import socket
import threading
import time

from ..pattern import pattern
from ..play import play
from ..roles import answerer, asker, buffers, first_window, listener_to_stream, no_quickack, streamer, uploader


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
