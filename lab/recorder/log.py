"""What the two programs log of each write and read, and which stalls follow from it."""

import threading

LATE_NS = 20_000_000


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
