"""A capture by tcpdump, for as long as a pattern is played."""

import signal
import subprocess
import time

SNAP = 96


class Capture:
    """tcpdump in a namespace, from `with` to its end."""

    def __init__(self, ns, interface, path, extra=""):
        self.command = (
            f"ip netns exec {ns.name} tcpdump -i {interface} -s {SNAP} -n -U"
            f" --immediate-mode {extra} -w {path} tcp"
        )

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command.split(), stderr=subprocess.PIPE, text=True
        )
        while "listening on" not in self.process.stderr.readline():
            pass
        self.begun = time.time_ns()
        time.sleep(0.2)
        return self

    def __exit__(self, *_):
        time.sleep(0.4)
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
