"""One conversation with one entry, seen by three instruments: the client's clock, the kernel (`tinygram watch`) and a
capture (`tinygram diagnose`)."""
import contextlib, fcntl, json, os, pathlib, select, shutil, signal, subprocess, time

from shared import programs
from shared.network import CLIENT, SERVER
from shared.processes import end, wait_for

from . import rows
from .entries import ATLAS, PYTHON, as_user, filled

#: Ports that a run may take: `set`, `ps` and `watch` look at a port in all namespaces of a host, so runs that go at once have
#: different ones. The next nine are for what stands behind an entry.
PORTS = range(7700, 7900, 10)
#: An exchange that took so much longer than the path has stalled. The shortest delayed ACK of
#: Linux is 40 ms; what a busy machine adds is less.
STALL_MS = 25.0
#: So many exchanges go before those that are counted, where something is changed.
WARM_UP = 30
#: Longest time for a conversation, and for `cure`, which tries in turns.
PATIENCE_S = 90
CURE_PATIENCE_S = 120
SETTING_PATIENCE_S = 30
WATCH_PATIENCE_S = 30
#: A database that makes its files on a busy host takes half a minute before it listens.
LISTENING_TRIES = 600


class Failed(Exception):
    """Why a conversation could not be held."""


def claimed_port():
    """Returns a port that no other run has, and the open file whose lock says so."""
    for number in PORTS:
        file = open(f"/run/lock/tinygram-atlas-{number}", "w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return number, file
        except BlockingIOError:
            file.close()
    raise SystemExit(f"run: {len(PORTS)} runs go on this host; no port is left")


class Sides:
    """The two hosts, and which of them has the entry."""

    def __init__(self, network, entry, words, scratch, port):
        self.network, self.entry, self.scratch, self.port = network, entry, scratch, port
        # Where an ordinary user may read them, wherever the checkout is.
        for folder in ["entries", "peers"]:
            shutil.copytree(ATLAS / folder, f"{scratch}/atlas/{folder}")
        here = f"{scratch}/atlas/{entry.here.relative_to(ATLAS)}"
        self.words = {**words, "here": here, "address": SERVER, "port": str(port), "behind": str(port + 1), "scratch": scratch,
                      "family": os.path.dirname(here), "peers": f"{scratch}/atlas/peers",
                      "certificate": f"{scratch}/certificate.pem"}
        if "{certificate}" in entry.path.read_text():
            make_certificate(self.words["certificate"])
        self.where = 0 if entry.side == "server" else 1
        # The last word of what enters one is --net=PATH.
        self.namespaces = {os.stat(network.within(index)[-1].partition("=")[2]).st_ino for index in [0, 1]}

    def entry_is(self, side):
        return self.entry.side == side

    def command(self, side, conversation, kind, exchanges, wrapper=(), start=None):
        """The words that start a side: the entry as an ordinary user, or a peer of ours."""
        words = {**self.words, "exchanges": str(exchanges)}
        if self.entry_is(side):
            return as_user([*wrapper, *filled([*(start or self.entry.start), *(conversation["asks"] if side == "client" else [])], words)])
        peer = f"{self.scratch}/atlas/peers/speak_{self.entry.peer}.py"
        behind = filled(self.entry.behind, {**words, "address": "127.0.0.1"} if side == "client" else words)
        if side == "server":
            return as_user([PYTHON, peer, "answer", str(self.port), kind, *behind, *filled(conversation.get("answers", []), words)])
        return as_user([PYTHON, peer, "ask", SERVER, str(self.port), str(exchanges), kind, *behind, *filled(conversation["asks"], words)])

    @contextlib.contextmanager
    def server(self, *words, **more):
        with self.started(0, self.command("server", *words, **more), "server") as process:
            try:
                wait_for(SERVER, self.port, self.network.within(1), LISTENING_TRIES)
            except RuntimeError:
                raise Failed(f"the server does not listen: {self.said('server')}") from None
            time.sleep(0.2)
            yield process

    @contextlib.contextmanager
    def started(self, index, command, name):
        environment = {**os.environ, "HOME": self.scratch, "TMPDIR": self.scratch}
        with open(f"{self.scratch}/{name}.said", "w") as said:
            process = subprocess.Popen([*self.network.within(index), *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
                                       cwd=self.scratch, env=environment, start_new_session=True)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            end(process)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def said(self, name):
        text = pathlib.Path(f"{self.scratch}/{name}.said").read_text(errors="replace").strip().splitlines()
        return text[-1][:200] if text else "it said nothing"


def make_certificate(path):
    """A key and a certificate of its own in one file, for a day; for nobody's eyes but this trial's."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=atlas",
                    "-addext", f"subjectAltName=IP:{SERVER},IP:127.0.0.1", "-keyout", path + ".key", "-out", path], check=True, capture_output=True)
    with open(path, "a") as file, open(path + ".key") as key:
        file.write(key.read())
    os.chmod(path, 0o644)
    os.chmod(path + ".key", 0o644)


class Lines:
    """What a client says of its exchanges: a line each, when it began (in seconds since 1970) and how long it took in milliseconds."""

    def __init__(self, sides, client):
        self.sides, self.client, self.rest = sides, client, b""

    def take(self, wanted, since=0.0):
        """The times of the next exchanges that began after an instant."""
        times, until = [], time.monotonic() + PATIENCE_S
        while len(times) < wanted:
            ready, _, _ = select.select([self.client.stdout], [], [], max(0, until - time.monotonic()))
            more = os.read(self.client.stdout.fileno(), 65536) if ready else b""
            if not more:
                raise Failed(f"the client came to {len(times)} exchanges: {self.sides.said('client')}")
            times += self.of(more, since)
        return times

    def until(self, deadline, since=0.0):
        """The times of those that are told before a deadline; a client whose pipe is full would stand still."""
        times = []
        while (left := deadline - time.monotonic()) > 0 and self.is_ready(left):
            times += self.read(since)
        return times

    def rest_of_stopped(self, since):
        """The times that a client told before it stood still."""
        times = []
        while self.is_ready(0):
            times += self.read(since)
        return times

    def is_ready(self, seconds):
        return bool(select.select([self.client.stdout], [], [], seconds)[0])

    def read(self, since):
        more = os.read(self.client.stdout.fileno(), 65536)
        if not more:
            raise Failed(f"the client ended: {self.sides.said('client')}")
        return self.of(more, since)

    def of(self, octets, since):
        *lines, self.rest = (self.rest + octets).split(b"\n")
        pairs = [line.split() for line in lines if len(line.split()) == 2]
        return [float(took) for began, took in pairs if float(began) >= since]


@contextlib.contextmanager
def stopped(process, lines, since=0.0):
    """The program and its children stand still. Gives the times that were told until then."""
    os.killpg(process.pid, signal.SIGSTOP)
    try:
        yield lines.until(time.monotonic() + 0.3, since) + lines.rest_of_stopped(since)
    finally:
        os.killpg(process.pid, signal.SIGCONT)


def as_shipped(sides, conversation, kind, exchanges):
    """What the three instruments saw of the program as it is."""
    capture = f"{sides.scratch}/exchange.pcap"
    with sides.server(conversation, kind, exchanges):
        with watching(sides, exchanges) as watched, capturing(sides, capture):
            with sides.started(1, sides.command("client", conversation, kind, exchanges), "client") as client:
                times = Lines(sides, client).take(exchanges)
                sockets = open_sockets(sides)
    packets = rows.of_capture(diagnosed(capture), sides.entry.side, exchanges)
    if packets["segments"] < exchanges:
        raise Failed(f"the capture has {packets['segments']} segments of {exchanges} exchanges")
    turns = conversation.get("round_trips", 1) + (packets["connections"] > exchanges / 2)
    return {**figures(times, packets["segments"], sides, turns), "load_1_min": round(os.getloadavg()[0], 1),
            "kernel": rows.of_watch(watched(), sides.namespaces, sides.entry.side),
            "capture": packets, "sockets": rows.of_sockets(sockets)}


def changed(sides, conversation, kind, exchanges, change):
    """What a change makes of it: `nodelay` on the live sockets, `run`, or another way to start (the entry's option)."""
    wrapper = [programs.TINYGRAM, "run", "--"] if change == "run" else []
    start = sides.entry.option["start"] if change == "option" else None
    with endless(sides, conversation, kind, wrapper, start) as (client, lines):
        with setting(sides, lines) if change == "nodelay" else contextlib.nullcontext():
            with stopped(client, lines):
                before, since = Sent(sides), time.time()
            times = lines.take(exchanges, since)
            with stopped(client, lines, since) as more:
                sent = Sent(sides).since(before)
    return figures(times + more, sent, sides, conversation.get("round_trips", 1))


@contextlib.contextmanager
def endless(sides, conversation, kind, wrapper=(), start=None):
    """A conversation without end, of which the first exchanges are over: what begins a connection is not counted, and `run`
    learns from the first answers."""
    own = {"wrapper": wrapper, "start": start}
    of = {side: own if sides.entry_is(side) else {} for side in ["server", "client"]}
    with sides.server(conversation, kind, 0, **of["server"]):
        with sides.started(1, sides.command("client", conversation, kind, 0, **of["client"]), "client") as client:
            lines = Lines(sides, client)
            lines.take(WARM_UP)
            yield client, lines


def cured(sides, conversation, kind):
    """What `cure` decides about the port, and what it measured."""
    with endless(sides, conversation, kind) as (_, lines), open(f"{sides.scratch}/cure.said", "w") as said:
        command = [*sides.network.within(sides.where), programs.TINYGRAM, "cure", "--json", "--look", "4s", "--seed", "1",
                   "--journal", f"{sides.scratch}/journal", str(sides.port)]
        with open(f"{sides.scratch}/cure.json", "w") as out:
            process = subprocess.Popen(command, stdout=out, stderr=said)
        try:
            until = time.monotonic() + CURE_PATIENCE_S
            while process.poll() is None:
                if time.monotonic() > until:
                    raise Failed(f"cure did not end in {CURE_PATIENCE_S} s")
                lines.until(time.monotonic() + 0.3)
        finally:
            end(process, signal.SIGINT)
    told = pathlib.Path(f"{sides.scratch}/cure.json").read_text()
    if not told:
        raise Failed(f"cure: {sides.said('cure')}")
    return rows.of_cure(json.loads(told))


def options_set(sides, conversation, exchanges=10):
    """Who sets NODELAY and corks and when, by what strace sees of the program in a few exchanges of their own."""
    trace = f"{sides.scratch}/options.strace"
    if not shutil.which("strace"):
        raise Failed("strace is not installed")
    wrapper = ["strace", "-f", "-qq", "-yy", "-k", "-e", "trace=setsockopt", "-e", "signal=none", "-o", trace]
    own = {side: {"wrapper": wrapper} if sides.entry_is(side) else {} for side in ["server", "client"]}
    with sides.server(conversation, "one", exchanges, **own["server"]):
        with sides.started(1, sides.command("client", conversation, "one", exchanges, **own["client"]), "client") as client:
            Lines(sides, client).take(exchanges)
    return rows.of_strace(pathlib.Path(trace).read_text(errors="replace"), sides.port, exchanges)


class Sent:
    """How many data segments the entry's side has sent: by its open connections, or where these come and go by all of its host,
    whose counter has a FIN as one."""

    def __init__(self, sides):
        self.all = sides.network.data_segments_sent(sides.where)
        where = SERVER if sides.where == 0 else CLIENT
        owned = [one for one in open_sockets(sides) if one["local"].startswith(where)]
        self.open = {(one["local"], one["remote"]): one["counts"]["data_segments_sent"] for one in owned}

    def since(self, before):
        if self.open and self.open.keys() == before.open.keys():
            return sum(self.open.values()) - sum(before.open.values())
        return self.all - before.all


def figures(times, sent, sides, turns):
    usual = sides.network.rtt_ms * turns
    times = sorted(times)
    return {"exchanges": len(times), "stalled": sum(one > usual + STALL_MS for one in times), "p50_ms": rank(times, 0.5),
            "p99_ms": rank(times, 0.99), "segments_an_exchange": round(sent / len(times), 2)}


def rank(times, share):
    return round(times[min(len(times) - 1, int(share * len(times)))], 3)


# The instruments ------------------------------------------------------------------------------------


@contextlib.contextmanager
def watching(sides, exchanges):
    with open(f"{sides.scratch}/watch.said", "w") as said:
        watch = subprocess.Popen([programs.TINYGRAM, "watch", "--json", "--once", "300s", str(sides.port)], stdout=subprocess.PIPE, stderr=said, text=True)
    lines = []

    def seen():
        found = [json.loads(line) for line in lines]
        summary = found[-1] if found else {}
        if summary.get("event") != "summary" or summary["source"] != "kernel" or summary["events_lost"]:
            raise Failed(f"watch saw not all: {sides.said('watch')}")
        if summary["seen"]["segments"] < exchanges:
            raise Failed(f"watch saw {summary['seen']['segments']} segments of {exchanges} exchanges")
        return found

    try:
        # The first line of its output would only come with a finding.
        until = time.monotonic() + WATCH_PATIENCE_S
        while "asking the kernel" not in pathlib.Path(f"{sides.scratch}/watch.said").read_text():
            if time.monotonic() > until or watch.poll() is not None:
                raise Failed(f"watch does not begin: {sides.said('watch')}")
            time.sleep(0.1)
        time.sleep(0.5)
        yield seen
    finally:
        time.sleep(0.3)
        watch.send_signal(signal.SIGINT)
        lines += watch.communicate()[0].splitlines()


@contextlib.contextmanager
def capturing(sides, path):
    command = [*sides.network.within(sides.where), "tcpdump", "-i", "any", "--immediate-mode", "-s", "400", "-B", "16384", "-U", "-w", path, f"tcp port {sides.port}"]
    tcpdump = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        if not any("listening on" in line for line in tcpdump.stderr):
            raise Failed("tcpdump does not begin")
        yield
    finally:
        time.sleep(0.3)
        tcpdump.send_signal(signal.SIGINT)
        said = tcpdump.communicate()[1]
    if "\n0 packets dropped by kernel" not in f"\n{said}":
        raise Failed(f"the capture lacks packets: {said.strip().splitlines()[-1]}")


def diagnosed(capture):
    said = subprocess.run([programs.TINYGRAM, "diagnose", "--json", capture], capture_output=True, text=True)
    if said.returncode not in (0, 1, 3):
        raise Failed(f"diagnose: {said.stderr.strip()}")
    return json.loads(said.stdout)


def open_sockets(sides):
    """The connections of the entry's side: `ps` looks at all namespaces of the host."""
    command = [*sides.network.within(sides.where), programs.TINYGRAM, "ps", "--json", str(sides.port)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True).stdout or "{}")
    where = SERVER if sides.where == 0 else CLIENT
    return [one for one in told.get("connections", []) if one["local"].startswith(where) and str(sides.port) in one["local"] + one["remote"]]


def established_sockets(sides):
    return [one for one in open_sockets(sides) if one["state"] == "established"]


def has_nodelay(connections):
    """Whether all have it; a host without a connection tells nothing yet."""
    return bool(connections) and all(one["options"] and one["options"]["nodelay"] for one in connections)


@contextlib.contextmanager
def setting(sides, lines):
    """TCP_NODELAY on the entry's live sockets and those to come; it is put back at the end."""
    command = [*sides.network.within(sides.where), programs.TINYGRAM, "set", "--follow", "--for", "120s", str(sides.port), "nodelay=on"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until, seen, stays_open = time.monotonic() + SETTING_PATIENCE_S, set(), False
        # It takes as long as the host's load makes it; a program that sets NODELAY itself has it before `set` has said so.
        while not (select.select([process.stdout], [], [], 0)[0] and has_nodelay(established_sockets(sides))):
            now = {(one["local"], one["remote"]) for one in established_sockets(sides)}
            stays_open, seen = stays_open or bool(seen & now), now
            if time.monotonic() > until:
                why = "the program clears it itself" if stays_open else "no connection stays open"
                raise Failed(f"NODELAY is not on {SETTING_PATIENCE_S} s after it was set: {why}")
            lines.until(time.monotonic() + 0.2)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate()[0].strip().splitlines()
    if process.returncode not in (0, 130):
        raise Failed(f"set: {(said or ['nothing'])[-1][:200]}")
