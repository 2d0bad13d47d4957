#!/usr/bin/env python3
"""Plays patterns of diagnose's corpus live, without a capture, and prints the truth of each from the
applications' own log, one JSON document a line.

    play.py PATTERN...      plays these
    play.py --list          prints the names of all but the rare ones
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "lab"))
sys.dont_write_bytecode = True
import record  # noqa: E402


def play(name):
    function, kind, _, how, options = record.PATTERNS[name]
    lab, log = record.Lab(**options), record.Log()
    way = options.get("way")
    path_ns = int(2e9 * way(b"\0" * 60, True)) if way and kind else 0
    try:
        function(lab, log)
    finally:
        lab.close()
    truth = record.truth_of(name, how, kind, log, path_ns)
    truth["pid"] = os.getpid()
    return truth


if __name__ == "__main__":
    os.setpriority(os.PRIO_PROCESS, 0, -15)
    names = sys.argv[1:]
    if names == ["--list"]:
        print("\n".join(name for name in record.PATTERNS if name not in record.RARE))
        names = []
    for name in names:
        print(json.dumps(play(name)), flush=True)
