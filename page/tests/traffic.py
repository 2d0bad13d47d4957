"""Captures of any length, for measurements: connections that ask and are answered, some of which stall."""

import os
import struct

MSS = 1460
SYN, ACK, PUSH, FIN = 2, 16, 24, 17
AT_ONCE = 100  # connections
EXCHANGES = 12
ROUND_NS = 2_000_000_000
FIRST_SECOND = 1_700_000_000
# Where things stand in a record: its own header has 16 octets, Ethernet's 14, IPv4's 20.
SECONDS, PORTS, OF_RECORD = 0, 16 + 14 + 20, 16


def frame(is_client, port, flags, seq, ack, payload):
    """A frame of IPv4 and TCP between a client and a server; its payload is zeros."""
    client, server = (bytes([10, 0, 0, 2]), port), (bytes([10, 0, 0, 1]), 5432)
    (source, source_port), (to, to_port) = (client, server) if is_client else (server, client)
    ethernet = bytes.fromhex("020000000001020000000002" if is_client else "020000000002020000000001") + b"\x08\x00"
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + payload, 0, 0x4000, 64, 6, 0, source, to)
    tcp = struct.pack(">HHIIBBHHH", source_port, to_port, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 5 << 4, flags, 65535, 0, 0)
    return ethernet + ip + tcp + bytes(payload)


def conversation(port, stalls):
    """A connection as (microseconds since its beginning, whether the client sent it, frame)."""
    at, sent = 0, []
    numbers = {True: 1000, False: 9000}

    def go(pause_us, is_client, flags, payload=0):
        nonlocal at
        at += pause_us
        ack = 0 if flags == SYN and is_client else numbers[not is_client]
        sent.append((at, is_client, frame(is_client, port, flags, numbers[is_client], ack, payload)))
        numbers[is_client] += payload + (flags & 3 != 0)

    go(0, True, SYN)
    go(150, False, SYN | ACK)
    go(150, True, ACK)
    for number in range(EXCHANGES):
        go(4000, True, PUSH, 180)
        if stalls and number % 4 == 3:
            # Written in two pieces: the second waits for an acknowledgment that is put off.
            go(40_200, False, ACK)
            go(30, True, PUSH, 90)
        for _ in range(3):
            go(300, False, ACK, MSS)
            go(20, False, ACK, MSS)
            go(120, True, ACK)
        go(300, False, PUSH, 620)
        go(120, True, ACK)
    go(500, True, FIN)
    go(150, False, FIN)
    go(150, True, ACK)
    return sent


def round_of(snap):
    """Records of connections at once, in the order of their times, with the places of what differs between rounds."""
    frames = []
    for number in range(AT_ONCE):
        began = number * 1_700
        frames += [(began + at, is_client, octets) for at, is_client, octets in conversation(number, number % 10 == 0)]
    frames.sort(key=lambda it: it[0])
    octets, places = bytearray(), []
    for at, is_client, whole in frames:
        kept = whole[:snap]
        port_at = len(octets) + PORTS + (0 if is_client else 2)
        places.append((len(octets), at, port_at, struct.unpack_from(">H", whole, 34 if is_client else 36)[0]))
        octets += struct.pack("<IIII", 0, 0, len(kept), len(whole)) + kept
    return octets, places


def write(path, length, snap=65_535):
    """Writes a capture of at least so many octets; returns the number of its frames."""
    octets, places = round_of(snap)
    written = frames = 0
    with open(path, "wb") as out:
        written += out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snap, 1))
        number = 0
        while written < length:
            first_port = 10_000 + (number * AT_ONCE) % 50_000
            began_us = number * ROUND_NS // 1000
            for record, at, port_at, port in places:
                seconds, micros = divmod(began_us + at, 1_000_000)
                struct.pack_into("<II", octets, record + SECONDS, FIRST_SECOND + seconds, micros)
                struct.pack_into(">H", octets, port_at, first_port + port)
            written += out.write(octets)
            frames += len(places)
            number += 1
    return frames


def write_sparse(path, like, length):
    """Writes a capture whose later frames are holes of the file system; returns whether it keeps holes."""
    whole = like.read_bytes()
    hole = 1 << 19
    record = whole[24:32] + struct.pack("<II", hole, hole)
    with open(path, "wb") as out:
        out.write(whole)
        for _ in range(length // hole):
            out.write(record)
            out.seek(hole, os.SEEK_CUR)
        out.truncate(out.tell())
    return path.stat().st_blocks * 512 < length // 10
