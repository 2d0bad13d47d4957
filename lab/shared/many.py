"""Very many connections, held by a few processes."""
import multiprocessing, os, resource, socket, threading, time

AT_ONCE = 500
# To one port of a server's there are no more than some 28,000.
PORTS_A_SOURCE = 20_000
# Of a process's connections that stall again and again.
STALLING = 2
REQUEST = [b"h" * 40, b"b" * 400]


class Holder:
    """A process with a part of the connections, for one may not have so many files open."""

    def __init__(self, count):
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=self.hold, args=[count, other])
        self.process.start()
        self.port = self.pipe.recv()

    @classmethod
    def all_of(cls, count):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        most = min((hard - 200) // 2, PORTS_A_SOURCE)
        holders = [cls(min(most, count - at)) for at in range(0, count, most)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return holders

    def hold(self, count, pipe):
        pairs = connected(count)
        pipe.send(pairs[0][1].getsockname()[1])
        while order := pipe.recv():
            if order == "go on":
                threading.Thread(target=go_on, args=[pairs[:STALLING]], daemon=True).start()
                continue
            pipe.send(sum(stalled(pairs[at:at + AT_ONCE]) for at in range(0, count, AT_ONCE)))

    def go_on(self):
        """From now on some of its connections stall again and again, and a new one comes each second."""
        self.pipe.send("go on")

    def ask(self):
        """Returns how many of its connections stalled."""
        self.pipe.send("ask")
        return self.pipe.recv()

    def end(self):
        self.pipe.send(None)
        self.process.join()


def connected(count):
    """Both ends of so many connections; each process has a port of its own for its servers' ends."""
    pairs = []
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        for _ in range(count):
            client = socket.create_connection(listener.getsockname())
            pairs.append((client, listener.accept()[0]))
    return pairs


def stalled(pairs):
    """Asks on each connection, and answers; returns how many requests had not come whole after 15 ms."""
    for client, _ in pairs:
        for part in REQUEST:
            client.sendall(part)
    time.sleep(0.015)
    whole = sum(map(len, REQUEST))
    waiting = sum(len(server.recv(whole, socket.MSG_PEEK)) < whole for _, server in pairs)
    for client, server in pairs:
        server.recv(whole, socket.MSG_WAITALL)
        server.sendall(b"!")
    for client, _ in pairs:
        client.recv(1)
    return waiting


def go_on(pairs):
    with socket.create_server(pairs[0][1].getsockname()) as listener:
        while True:
            new = socket.create_connection(listener.getsockname())
            pair = (new, listener.accept()[0])
            over = time.monotonic() + 1
            while time.monotonic() < over:
                stalled([*pairs, pair])
            for end in pair:
                end.close()


def processor_time(pid):
    """In seconds, of all threads."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
