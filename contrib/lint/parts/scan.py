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


def findings(paths, folder, more=()):
    """Returns what the rules find in the paths, read by one file at a time; tells of files that took too long."""
    command = ["semgrep", "scan", "--quiet", "--json", "--metrics=off", "--disable-version-check", "--timeout", SECONDS, *more]
    try:
        done = subprocess.run([*command, "--config", str(RULES), *map(str, paths)], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        refuse("semgrep is not installed: pip install semgrep")
    said = json.loads(done.stdout) if done.stdout else {"results": [], "errors": [{"message": done.stderr.strip()}]}
    wrong = [error.get("message") or error.get("long_msg") for error in said["errors"] if error.get("level") != "warn" and "path" not in error]
    if wrong:
        refuse(f"semgrep: {wrong[0]}")
    for error in said["errors"]:
        if "imeout" in str(error.get("type")):
            print(f"took too long: {error.get('rule_id', '').rsplit('.', 1)[-1]} in {error.get('path')}", file=sys.stderr)
    return sorted({finding(result, folder) for result in said["results"]})


def finding(result, folder):
    path = folder / result["path"]
    octets = path.read_bytes()[result["start"]["offset"] : result["end"]["offset"]]
    rule = result["check_id"].rsplit(".", 1)[-1]
    return Finding(rule, path, result["start"]["line"], octets.decode(errors="replace"), " ".join(result["extra"]["message"].split()))


def refuse(why):
    print(why, file=sys.stderr)
    sys.exit(2)
