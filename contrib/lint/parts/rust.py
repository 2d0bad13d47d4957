"""What the text of a crate says of a socket of Rust's that a rule cannot see: that its module is of the tests, or that it is only tried."""

import re

from . import elsewhere, rust_answers

DECLARED = re.compile(r"(?m)^\s*#\[cfg\((?:all\()?test\b[^\n]*\n(?:\s*#\[[^\n]*\n)*\s*(?:pub(?:\([^)]*\))? )?mod (\w+);")
# Only whether it connects is looked at: its error, or a stream that nobody names. A method or a closure in between may use it.
BEFORE = re.compile(r"\b(?:while|if) let Err\([^)]*\) = $")
BETWEEN = r"(?:\s|\?|\.\s*await\b|\))*"
BLOCK = re.compile(BETWEEN + r"\{")
AFTER = re.compile(rf"({BETWEEN})(?:\.is_(?:ok|err)\(\)|\.(?:unwrap_err|expect_err|err)\(|\{{\s*(?:Ok\()+_\w*\))")
ACCEPTS = re.compile(r"(\w+)(?:\(\))?\s*\.\s*accept\(\)")
OWN = re.compile(r"\bstruct TcpListener\b")
OF_A_LIBRARY = re.compile(r"\bnet::(?:\{[^}]*\b)?TcpListener\b")
TRAIT = re.compile(r"\btrait \w[^{;]*\{[^{}]*\bfn accept\b")
# A statement of its own, whose stream is dropped at once.
DROPPED = re.compile(r"(?:[;{}]|=>|\n[ \t]*//[^\n]*\n)\s*(?:let\s+_\s*=\s*)?(?:[\w:]+::)?$")
ENDED = re.compile(BETWEEN + r"(?:\.(?:ok|unwrap|is_ok|is_err)\(\)|\.(?:unwrap_or_default|expect|map_err)\([^;{}]*\)\??)?;")
# What it may be handed to and is still only tried.
WAITS = {"", "timeout", "timeout_at", "block_on"}
FURTHER = 400


def why_not(finding, crate):
    if re.match(r"(?:\s|//[^\n]*\n|#!\[[^\n]*\n)*#!\[cfg\(test\)\]", finding.path.read_text(errors="replace")):
        return "this file is of the tests"
    if module := test_module(finding.path, crate):
        return f"{module} has this file as a module of the tests"
    if is_only_tried(finding):
        return "only whether it connects is looked at"
    if is_of_a_trait(finding, crate):
        return "`accept` is a method of this crate's own trait, on what need not be TCP's"
    if finding.rule == "rust-socket-with-nagle" and rust_answers.are_awaited(finding.path.read_text(errors="replace")):
        return "all that is written here is answered before it writes again, as far as this file says"
    return None


def is_of_a_trait(finding, crate):
    """Whether the crate has a trait with such a method, and the file does not say that this receiver is a listener of TCP's."""
    called_on = ACCEPTS.search(finding.text)
    if not called_on:
        return False
    text = elsewhere.code_of(finding.path, elsewhere.RUST)
    if not OF_A_LIBRARY.search(text) and any(OWN.search(elsewhere.code_of(path, elsewhere.RUST)) for path in elsewhere.files(crate, elsewhere.RUST)):
        return True
    name = re.escape(called_on[1])
    if re.search(rf"\btype \w+ = [^;]*TcpListener|\b{name}\s*:[^,;){{}}]*TcpListener|\b{name}\s*=[^;]*TcpListener|\bTcp\w*\([^)]*\b{name}\b|(?m:^)[^\n]*struct \w+\([^)]*TcpListener", text):
        return False
    return any(TRAIT.search(elsewhere.code_of(path, elsewhere.RUST)) for path in elsewhere.files(crate, elsewhere.RUST))


def test_module(path, crate):
    """Returns the file of the crate that declares this one as a module of its tests."""
    name = path.parent.name if path.name == "mod.rs" else path.stem
    above = path.parent.parent if path.name == "mod.rs" else path.parent
    for parent in [above / "lib.rs", above / "main.rs", above / "mod.rs", above.with_suffix(".rs")]:
        if parent.exists() and name in DECLARED.findall(parent.read_text(errors="replace")):
            return parent.relative_to(crate) if crate in parent.parents else parent
    return None


def is_only_tried(finding):
    lines = finding.path.read_text(errors="replace").splitlines(keepends=True)
    start = sum(map(len, lines[: finding.line - 1]))
    text = "".join(lines)
    at = text.find(finding.text, start)
    if at < 0:
        return False
    after = text[at + len(finding.text) : at + len(finding.text) + FURTHER]
    if BEFORE.search(text[:at]):
        return bool(BLOCK.match(after))
    if DROPPED.search(text[:at]) and ENDED.match(after):
        return True
    found = AFTER.match(after)
    return bool(found) and set(handed_to(text[:at], found[1].count(")"))) <= WAITS


def handed_to(before, closed):
    """Yields the names before the innermost brackets that are open at the end of a text, as many as are closed after it."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        if not closed:
            return
        if before[at] == "(" and not depth:
            closed -= 1
            yield re.search(r"\w*$", before[max(0, at - 40) : at])[0]
        depth = max(0, depth + {")": 1, "(": -1}.get(before[at], 0))
