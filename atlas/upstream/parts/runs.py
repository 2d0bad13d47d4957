"""One run of a build in namespaces of its own, as an ordinary user, and what was measured in it."""
import json, os, subprocess

from shared.network import SERVER, Network
from shared.processes import Group, end, wait_for

from .entries import PROGRAMS, PYTHON
from .words import Unusable

PORT = "8000"
#: "nobody": it owns nothing and may do nothing.
USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Result:
    """The times of the exchanges, and what they took of the program under test."""

    def __init__(self, told, connections, segments, cpu_seconds):
        self.micros = sorted(told["micros"])
        # The first exchange of a connection is not among the times, but took its share of the rest.
        exchanges = len(self.micros) + connections
        self.rate = exchanges / told["seconds"]
        self.segments = segments / exchanges
        self.cpu_ms_per_1000 = cpu_seconds * 1e6 / exchanges

    def millis(self, share):
        """Returns the time within which this share of the exchanges was done."""
        return self.micros[int(len(self.micros) * share)] / 1000


def measure(entry, folder, rtt_ms, connections, exchanges, what):
    """Returns the Result of so many connections with so many exchanges each. The program under test stands where
    `entry` says; segments are those that its namespace sends."""
    network, group = Network(rtt_ms), Group()
    try:
        tested = {"env": environment(entry, folder), "preexec_fn": group.enter}
        if entry.is_server:
            server = start(network, 0, entry.words(folder, SERVER, PORT), tested)
        else:
            server = start(network, 0, entry.peer_words(folder, SERVER, PORT), {})
        try:
            wait_for(SERVER, int(PORT), network.within(1))
            cpu, segments = group.cpu_seconds(), network.data_segments_sent(0 if entry.is_server else 1)
            asked = [SERVER, PORT, str(connections), str(exchanges), what]
            if entry.is_server:
                told = ask(network, [PYTHON, os.path.join(PROGRAMS, "ask.py"), *asked], {})
            else:
                told = ask(network, entry.words(folder, *asked), tested)
            segments = network.data_segments_sent(0 if entry.is_server else 1) - segments
            return Result(told, connections, segments, group.cpu_seconds() - cpu)
        finally:
            end(server)
    finally:
        group.close()
        network.close()


def environment(entry, folder):
    return {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"} | entry.environment(folder)


def start(network, index, words, rest):
    return subprocess.Popen([*network.within(index), *USER, *words], cwd="/", stdout=subprocess.DEVNULL, **rest)


def ask(network, words, rest):
    done = subprocess.run([*network.within(1), *USER, *words], cwd="/", stdout=subprocess.PIPE, timeout=280, **rest)
    if done.returncode:
        raise Unusable(f"the program ended with {done.returncode}")
    return json.loads(done.stdout)
