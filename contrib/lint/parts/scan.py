"""Runs semgrep with the rules of ../rules."""

import json
import pathlib
import subprocess
import sys
from typing import NamedTuple

RULES = pathlib.Path(__file__).resolve().parent.parent / "rules"
# Semgrep gives a rule five seconds for a file, which a busy machine makes too few.
SECONDS = "60"


class Finding(NamedTuple):
    rule: str
    path: pathlib.Path
    line: int
    text: str
    message: str


class NotRead(NamedTuple):
    path: pathlib.Path
    why: str


def findings(paths, folder, more=()):
    """Returns what the rules find in the paths, read by one file at a time, and what was not read of them, which it tells, too."""
    command = ["semgrep", "scan", "--quiet", "--json", "--metrics=off", "--disable-version-check", "--timeout", SECONDS, *more]
    try:
        done = subprocess.run([*command, "--config", str(RULES), *map(str, paths)], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        refuse("semgrep is not installed: pip install semgrep")
    said = json.loads(done.stdout) if done.stdout else {"results": [], "errors": [{"message": done.stderr.strip()}]}
    wrong = [error.get("message") or error.get("long_msg") for error in said["errors"] if error.get("level") != "warn" and "path" not in error]
    if wrong:
        refuse(f"semgrep: {wrong[0]}")
    missed = not_read(said["errors"], folder)
    for one in missed:
        print(f"not read: {one.path}: {one.why}", file=sys.stderr)
    return sorted({finding(result, folder) for result in said["results"]}), missed


def not_read(errors, folder):
    """Returns each file, or part of one, that semgrep could not read or did not get through, with why, in one line."""
    missed = set()
    for error in errors:
        kind = error.get("type")
        kind = kind[0] if isinstance(kind, list) else str(kind)
        rule = error.get("rule_id", "").rsplit(".", 1)[-1]
        if "imeout" in kind:
            why = f"{rule or 'a rule'} took longer than {SECONDS} s"
        elif kind == "PartialParsing":
            lines = sorted({span["start"]["line"] for span in error.get("spans", [])})
            why = "could not be parsed in part" + (f", from line {', '.join(map(str, lines))}" if lines else "")
        elif "yntax" in kind or "arsing" in kind or "exical" in kind:
            why = "could not be parsed"
        else:
            why = f"{kind}: {rule}" if rule else kind
        if "path" in error:
            missed.add(NotRead(folder / error["path"], why))
    return sorted(missed)


def finding(result, folder):
    path = folder / result["path"]
    octets = path.read_bytes()[result["start"]["offset"] : result["end"]["offset"]]
    rule = result["check_id"].rsplit(".", 1)[-1]
    return Finding(rule, path, result["start"]["line"], octets.decode(errors="replace"), " ".join(result["extra"]["message"].split()))


def refuse(why):
    print(why, file=sys.stderr)
    sys.exit(2)
