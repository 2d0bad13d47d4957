"""Rows: what is kept of what the instruments saw, and the verdict of all three."""
import re

#: In so large a part of the exchanges a program that stalls does so: the first one of a connection is not held.
STALLS = 0.5
#: Of an emulated round trip what NODELAY must take off the median, where a hold as long as a round trip is looked for.
SAVES = 0.5
#: And one that does not, in no more: a busy machine may be late once.
DOES_NOT = 0.05


def of_watch(documents, namespaces, side):
    """Stalls by their sender and the line that wrote, of the kernel's own account; those of these network namespaces."""
    findings = [one for one in documents if one.get("event") == "stall" and one["network_namespace"] in namespaces]
    costs = sorted(one["cost_ns"] for one in findings)
    own = [row for row in documents[-1]["rows"] if row["network_namespace"] in namespaces and row["side"] == side]
    sites = [site["call_site"] for row in own for site in row["call_sites"]]
    return {"stalls": len(findings), "of_its_side": sum(one["side"] == side for one in findings), "kind": most([one["kind"] for one in findings]),
            "cost_p50_ms": round(costs[len(costs) // 2] / 1e6, 3) if costs else None, "line": line_of(sites)}


def of_capture(document, side, exchanges):
    """Stalls by packets, and the entry's segments and octets."""
    data = [one[f"{side}_data"] for one in document["connections"]]
    octets, mss = sum(one["bytes"] for one in data), max((one["mss"] for one in data), default=None)
    return {"stalls": document["summary"]["stalls"], "of_its_side": sum(one["blame"] == side and is_stall(one) for one in document["findings"]), "octets": octets,
            "segments": sum(one["segments"] for one in data), "mss": mss,
            "fewest_an_exchange": -(-octets // exchanges // mss) if mss else None,
            "policy": most([one["sender_policy"] for one in data]), "connections": len(data)}


def is_stall(finding):
    """Whether a finding of `diagnose` is counted as a stall: no flood, and no stall that is only possible."""
    return "flood" not in finding["kind"] and finding["confidence"] != "possible"


def of_sockets(connections):
    """The options of the entry's open connections; None where none was open."""
    return {name: most([one["options"][name] for one in connections if one["options"]]) for name in ["nodelay", "cork"]}


def of_cure(document):
    """What `cure` decided of the setting that it kept, or else of the first one that it tried."""
    tried = [one for one in document["remedies"] if one["trial"]]
    if not tried:
        return {"verdict": "none tried", "stalls": document["stalls"]}
    best = next((one for one in tried if one["trial"]["verdict"] == "kept"), tried[0])
    seen = best["trial"]["figures"] or {}
    keys = ["p50_ms_without", "p50_ms_with", "segments_per_turn_without", "segments_per_turn_with"]
    return {"setting": best["setting"], "verdict": best["trial"]["verdict"], **{key: seen[key] for key in keys if key in seen}}


CALL = re.compile(r"setsockopt\(\d+<TCP(?:v6)?:\[(?P<ends>[^\]]*\]?[^>]*)\]>, SOL_TCP, (?P<option>TCP_NODELAY|TCP_CORK|TCP_QUICKACK), \[(?P<value>\d+)\]")
#: Of a frame only the file: where a program has few symbols, strace names the nearest one.
FRAME = re.compile(r"^ > (?P<file>[^(]*)\(")


def of_strace(text, port, exchanges):
    """Options that the program set: which, on what, by which library or program, how often; calls on other connections are left out."""
    calls, pending = [], None
    for line in text.splitlines():
        if found := CALL.search(line):
            ends = found["ends"]
            on = "a connection" if "->" in ends else "the listening socket" if f":{port}" in ends else "a socket that is not connected yet"
            pending = None
            if "->" not in ends or f":{port}" in ends:
                pending = [found["option"], int(found["value"]), on, None]
                calls.append(pending)
        elif pending and not pending[3] and (frame := FRAME.match(line)):
            file = frame["file"].rsplit("/", 1)[-1]
            if not file.startswith(("libc.so", "libpthread", "ld-linux")):
                pending[3] = file
        elif not line.startswith(" >"):
            pending = None
    kinds = {}
    for call in map(tuple, calls):
        kinds[call] = kinds.get(call, 0) + 1
    return [{"option": option, "value": value, "on": on, "by": by, "calls": count, "each_exchange": count >= exchanges}
            for (option, value, on, by), count in sorted(kinds.items(), key=str)]


def verdict(trials):
    """What the trials of a conversation say together.

    `stalls` where in one of them all three instruments say so, of the entry's side; `does not stall` where none says so of either side in
    any, with both kinds of peer; `waits a round trip` where the others are those whose hold an acknowledgment with data ends; `cannot tell`
    where each exchange has a connection of its own, on which nothing is held yet.
    """
    whole = [trial for trial in trials if "failed" not in trial]
    if any(map(all_say_stalls, whole)):
        return "stalls"
    if len(whole) < len(trials):
        return "failed"
    if strange := [trial for trial in trials if any(count > DOES_NOT * trial["exchanges"] for count in counts_of_stalls(trial))]:
        return "waits a round trip" if all(map(waits_a_round_trip, strange)) else "instruments disagree"
    if any(trial["capture"]["connections"] > trial["exchanges"] / 2 for trial in trials):
        return "cannot tell"
    return "does not stall"


def is_late_host(trial):
    """Whether the clock alone saw waits, where kernel and capture are witnesses that nothing was held: the host was late."""
    seen = [trial["kernel"]["stalls"], trial["capture"]["stalls"]]
    return trial["round_trip_ms"] == 0 and trial["stalled"] > DOES_NOT * trial["exchanges"] >= max(seen)


def is_held(trial):
    """Whether the kernel held something of the entry's in half of the exchanges or more."""
    return trial["kernel"]["of_its_side"] >= STALLS * trial["exchanges"]


def waits_a_round_trip(trial):
    """Whether the kernel's word that it held is borne out by NODELAY, which takes half a round trip or more off the median. The peer's
    acknowledgment came at once, with data: to the clock that is no stall, and in a capture what was held looks like the answer to that data."""
    without = trial.get("nodelay", {}).get("p50_ms")
    return is_held(trial) and without is not None and trial["p50_ms"] - without >= SAVES * trial["round_trip_ms"] > 0


def counts_of_stalls(trial):
    """Stalls of either side as each instrument has them. Where the link emulates a round trip, its own lateness on a busy host is in
    the clock, and kernel and capture alone can say that there was none."""
    seen = [trial["kernel"]["stalls"], trial["capture"]["stalls"]]
    return seen if trial["round_trip_ms"] else [trial["stalled"], *seen]


def all_say_stalls(trial):
    """Whether in a trial clock, kernel and capture blame the entry for half of the exchanges or more."""
    counts = (trial["stalled"], trial["kernel"]["of_its_side"], trial["capture"]["of_its_side"])
    return all(count >= STALLS * trial["exchanges"] for count in counts)


def most(values):
    values = [value for value in values if value is not None]
    return max(sorted(set(values), key=str), key=values.count) if values else None


def line_of(sites):
    """The first frame of a call that is no library's, else its first; None where only the C library's is known."""
    for site in sites:
        frames = site.get("stack") or [site]
        own = [frame for frame in frames if not frame.get("library")] or frames
        if own[0].get("function") and not own[0]["function"].startswith("__"):
            file = (own[0].get("file") or "").rsplit("/", 1)[-1]
            return f"{own[0]['function']}" + (f", {file}:{own[0]['line']}" if own[0].get("line") else f", {file}" if file else "")
    return None
