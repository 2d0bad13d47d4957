#!/usr/bin/env python3
"""Records the labelled corpus: captures of known patterns, with the truth from the
application's own log.

Two network namespaces are joined by a veth pair, or by a forwarder that delays, drops or holds
back frames. Each pattern plays a client and a server; every write and every read is logged with
the clock that also stamps the captures. A part of a message that arrived more than 20 ms (beyond
the path) after it was written, while its reader waited for it, is a stall; what it cost is the
difference. Patterns in which nobody waits, or in which something else is late, have none.

Needs root, iproute2, ethtool and tcpdump. Touches nothing but its own namespaces.

    record.py [--into FOLDER] [PATTERN...]

records all patterns, or those named, into corpus/ (rare kinds into corpus/rare/) or another folder. With TINYGRAM_CORPUS=FOLDER the
test judges that one: a recording it has never seen.
"""

import json
import os
import sys
import threading
import time

import recorder.patterns  # noqa: F401: they enter themselves
from recorder.capture import Capture
from recorder.log import Log
from recorder.network import Lab
from recorder.pattern import PATTERNS, RARE
from recorder.truth import truth_of

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../corpus")


def record(name, folder):
    function, kind, at, how, options = PATTERNS[name]
    lab, log = Lab(**options), Log()
    path = os.path.join(folder, f"{name}.pcap")
    way = options.get("way")
    path_ns = 0
    if way and kind:
        path_ns = int(2e9 * way(b"\0" * 60, True))
    try:
        if at == "late":
            player = threading.Thread(target=function, args=(lab, log))
            player.start()
            time.sleep(0.75)
            with Capture(lab.a, "va", path) as capture:
                player.join()
            log.writes = [w for w in log.writes if w[3] > capture.begun]
        else:
            where = {"a": (lab.a, "va"), "b": (lab.b, "vb"), "any": (lab.a, "any")}[at]
            with Capture(*where, path):
                function(lab, log)
    finally:
        lab.close()
    truth = truth_of(name, how, kind, log, path_ns)
    truth["captured"] = {"a": "client", "b": "server"}.get(at, "client")
    truth["bytes"] = os.path.getsize(path)
    return truth


def main():
    # The logs should tell of the network and not of this machine's scheduler.
    os.setpriority(os.PRIO_PROCESS, 0, -15)
    arguments = sys.argv[1:]
    folder = CORPUS
    if arguments[:1] == ["--into"]:
        folder, arguments = arguments[1], arguments[2:]
        os.makedirs(folder, exist_ok=True)
    names = arguments or list(PATTERNS)
    for into, chosen in ((folder, [n for n in names if n not in RARE]),
                         (os.path.join(folder, "rare"), [n for n in names if n in RARE])):
        if chosen:
            os.makedirs(into, exist_ok=True)
            record_all(chosen, into)


def record_all(names, folder):
    """Records these into a folder, and their truth beside what it holds already."""
    file = os.path.join(folder, "truth.json")
    known = {}
    if os.path.exists(file):
        with open(file) as handle:
            known = {t["pattern"]: t for t in json.load(handle)}
    for name in names:
        known[name] = record(name, folder)
        with open(file, "w") as handle:
            json.dump(list(known.values()), handle, indent=1)
        truth = known[name]
        costs = ", ".join(f"{s['cost_ms']:.1f}" for s in truth["stalls"])
        print(f"{name}: {len(truth['stalls'])} stalls [{costs}], {truth['bytes']} bytes", flush=True)
    ordered = [known[name] for name in PATTERNS if name in known]
    with open(file, "w") as handle:
        json.dump(ordered, handle, indent=1)
        handle.write("\n")


if __name__ == "__main__":
    main()
