"""What is a finding of the whole project's, and of what a rule that sees one file cannot tell."""

import pathlib
from typing import NamedTuple

from . import answers, elsewhere, place, rust, scan, sight

# Findings about a socket without the option; the others are about writes, or about the option's default.
ABOUT_THE_OPTION = {"python-socket-with-nagle", "python-stream-handler-with-nagle", "python-listener-hides-tcp-from-asyncio", "python-two-sends",
                    "javascript-socket-with-nagle", "rust-socket-with-nagle", "rust-http-connector-with-nagle", "go-raw-socket-with-nagle"}


class Judged(NamedTuple):
    finding: scan.Finding
    # Why it is no accusation; None where it is one.
    why_not: str | None


def all_of(findings, root, outermost=None):
    """Returns each finding with what the project says of it; the accusations come first."""
    projects = elsewhere.Projects(pathlib.Path(root), outermost)
    judged = [Judged(finding, why_not(finding, projects)) for finding in findings]
    return sorted(judged, key=lambda one: (one.why_not is not None, one.finding.path, one.finding.line))


def why_not(finding, projects):
    if told := place.why_not(finding, projects.root):
        return told
    if finding.rule not in ABOUT_THE_OPTION:
        return None
    if setting := projects.speaks_for(finding):
        place_of_it = setting.path.relative_to(projects.root) if projects.root in setting.path.parents else setting.path
        return f"{place_of_it}:{setting.line} sets the option on a socket that it is handed, perhaps this one"
    if finding.path.suffix == ".rs" and (told := rust.why_not(finding, projects.project_of(finding.path))):
        return told
    if finding.rule in ("python-socket-with-nagle", "python-stream-handler-with-nagle") and answers.are_awaited(finding.path.read_text(errors="replace"), finding.line):
        return "all that is sent here is answered before it sends again, as far as this file says"
    if finding.rule == "python-socket-with-nagle" and answers.is_only_read(finding.path.read_text(errors="replace"), finding.line):
        return "it is only read"
    return sight.why_not(finding)
