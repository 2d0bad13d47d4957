"""Rows: what is kept of what the instruments saw, and the verdict of all three."""

#: In so large a part of the exchanges a program that stalls does so: the first one of a connection is not held.
STALLS = 0.5
#: And one that does not, in no more: a busy machine may be late once.
DOES_NOT = 0.05


def of_watch(documents, namespaces):
    """Stalls by their sender and the line that wrote, of the kernel's own account; those of these network namespaces."""
    findings = [one for one in documents if one.get("event") == "stall" and one["network_namespace"] in namespaces]
    costs = sorted(one["cost_ns"] for one in findings)
    summary = next((one for one in documents if one.get("event") == "summary"), {"rows": []})
    sites = [site["call_site"] for row in summary["rows"] for site in row.get("call_sites", [])]
    return {"stalls": len(findings), "blamed": most([one["side"] for one in findings]), "kind": most([one["kind"] for one in findings]),
            "cost_p50_ms": round(costs[len(costs) // 2] / 1e6, 3) if costs else None, "line": line_of(sites)}


def of_capture(document, side, exchanges):
    """Stalls by packets, and the entry's segments and octets."""
    data = [one[f"{side}_data"] for one in document["connections"]]
    findings = document["findings"]
    octets, mss = sum(one["bytes"] for one in data), max((one["mss"] for one in data), default=None)
    return {"stalls": document["summary"]["stalls"], "blamed": most([one["blame"] for one in findings]), "octets": octets,
            "segments": sum(one["segments"] for one in data), "mss": mss,
            "fewest_an_exchange": -(-octets // exchanges // mss) if mss else None,
            "policy": most([one["sender_policy"] for one in data]), "connections": len(data)}


def of_sockets(document, address, port):
    """The options of the entry's open connections; None where none was open."""
    owned = [one["options"] for one in document.get("connections", []) if one["local"].startswith(address) and str(port) in one["local"] + one["remote"]]
    return {name: most([one[name] for one in owned]) for name in ["nodelay", "cork"]}


def verdict(trials, side):
    """`stalls` where all three instruments say so, of the entry's side; `does not stall` where none does, with both kinds of peer."""
    def shares(trial):
        of_entry = lambda one: one["stalls"] if one["blamed"] in (side, None) else 0
        return [count / trial["exchanges"] for count in (trial["stalled"], of_entry(trial["kernel"]), of_entry(trial["capture"]))]
    seen = [shares(trial) for trial in trials]
    if any(all(share >= STALLS for share in one) for one in seen):
        return "stalls"
    if all(share <= DOES_NOT for one in seen for share in one):
        return "does not stall"
    return "instruments disagree"


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
