"""Two network namespaces that `tinygram link` makes and joins; they end with it, also after a crash."""
import signal, subprocess

from .programs import TINYGRAM

#: The addresses of the ends, as `tinygram link` gives them.
SERVER, CLIENT = "10.77.0.1", "10.77.0.2"


class Network:
    """Servers stand in the first namespace, load in the second. Without a round trip time a veth pair joins them, with
    one the link emulator does."""

    def __init__(self, rtt_ms):
        self.rtt_ms = rtt_ms
        words = ["--delay", f"{rtt_ms / 2:g}ms"] if rtt_ms else ["--veth", "--offload"]
        self.link = subprocess.Popen([TINYGRAM, "link", *words], stdout=subprocess.PIPE, text=True)
        # "first   10.77.0.1  fd77::1  nsenter --net=PATH", then the second.
        self.enter = []
        for line in iter(self.link.stdout.readline, ""):
            if "nsenter" in line:
                self.enter.append(line.split()[3:])
            if "Ctrl-C" in line:
                break
        if len(self.enter) != 2:
            self.close()
            raise RuntimeError("the link did not come up")

    def within(self, index):
        """The words that run a command in one of them."""
        return self.enter[index]

    def data_segments_sent(self, index):
        """By all connections of a namespace so far, retransmissions not counted."""
        words = [*self.within(index), "cat", "/proc/net/netstat"]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        names, values = [line.split() for line in text.splitlines() if line.startswith("TcpExt:")]
        return int(values[names.index("TCPOrigDataSent")])

    def close(self):
        self.link.send_signal(signal.SIGINT)
        self.link.wait()
        self.link.stdout.close()
