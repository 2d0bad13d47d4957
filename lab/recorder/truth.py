"""What is true of a recording, by its log."""

from .log import LATE_NS, client_port


def truth_of(name, how, kind, log, path_ns):
    if how == "late":
        stalls = log.stalls(path_ns)
    elif how == "round-trip":
        stalls = log.stalls(path_ns, path_ns * 7 // 10)
    elif how == "gaps":
        stalls = log.gaps("client", LATE_NS + path_ns)
    elif how == "restart":
        stalls = restarts(log, path_ns)
    else:
        stalls = []
    for stall in stalls:
        stall["kind"] = kind
    return {"pattern": name, "stalls": stalls, "floods": int(how == "flood")}


def restarts(log, path_ns):
    """The first silence of a round trip behind each awaited message's beginning."""
    found = []
    for key, start, length, at, awaited in log.writes:
        if not awaited or key[1] != "client":
            continue
        times = [t for k, total, t in log.reads if k == key and start < total <= start + length]
        gaps = [(b - a, a, b) for a, b in zip(times, times[1:]) if b - a > path_ns / 2]
        if gaps:
            _, a, b = gaps[0]
            found.append(
                {
                    "client_port": client_port(key[0]),
                    "sender": "client",
                    "written_ns": a,
                    "read_ns": b,
                    "cost_ms": (b - a) / 1e6,
                }
            )
    return found
