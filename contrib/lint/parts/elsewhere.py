"""Whether another file of the project sets the option on a socket that it is handed: then a rule that sees one file cannot tell.

Only such a file speaks for others. One that sets the option on sockets of its own says nothing of a socket that
another file opens.
"""

import os
import pathlib
import re
from typing import NamedTuple

MANIFESTS = ("package.json", "pyproject.toml", "setup.py", "setup.cfg", "Cargo.toml", "go.mod")
# What says where a project begins: a manifest, or else where its checkout does.
MARKERS = (*MANIFESTS, ".git")
PASSED_OVER = {".git", "node_modules", "target", "__pycache__", ".venv", "test", "tests", "__tests__", "testing", "examples", "example", "benches", "docs"}
TEST = re.compile(r"(^test_|_test\.|\.test\.|\.spec\.|^tests?\.|\.d\.ts$|\.min\.js$)")
LARGEST = 2_000_000


class Language(NamedTuple):
    endings: tuple
    # Sets the option; the group is what it is set on.
    sets: re.Pattern
    opens: re.Pattern
    # The head of a function: its name and its parameters.
    function: re.Pattern


PYTHON = Language(
    (".py",),
    re.compile(r"(?:([\w.\[\]]+)\.setsockopt\([^#\n]*|\b)TCP_NODELAY\b"),
    re.compile(r"create_connection\(|\bsocket\.socket\(|\.accept\(\)|\bsocket\("),
    re.compile(r"def (\w+)\(([^)]*)"),
)
JAVASCRIPT = Language(
    (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"),
    re.compile(r"([\w.$]+)\??\.setNoDelay\((?!\s*false)"),
    re.compile(r"\b_?(?:node)?(?:net|tls)\w*(?:\.default)?\.(?:connect|createConnection|createServer|Socket)\("),
    re.compile(
        r"""(?: function\s+(\w+)\s*
              | (\w+)\s*[:=]\s*(?:async\s+)?function\s*\w*\s*
              | (\w+)\s*[:=]\s*(?:async\s+)?(?=\([^()]*\)\s*=>)
              | ^[ \t]*(?:(?:static|async|private|public|protected)\s+)*\#?((?!(?:if|for|while|switch|catch|function|return)\b)\w+)\s*(?=\([^()]*\)\s*(?::[^{\n]*)?\{)
            )\(([^)]*)""",
        re.M | re.X,
    ),
)
RUST = Language(
    (".rs",),
    re.compile(r"([\w.]+)\s*\.set_(?:tcp_)?nodelay\((?!\s*false)"),
    re.compile(r"TcpStream::connect|TcpSocket::new|\.accept\(\)|HttpConnector::new"),
    re.compile(r"fn (\w+)(?:<[^(]*>)?\(([^)]*)"),
)
GO = Language(
    (".go",),
    re.compile(r"([\w.]+)\.SetNoDelay\(true\)|\bTCP_NODELAY\b"),
    re.compile(r"\bnet\.(?:Dial|Listen)|\.Socket\("),
    re.compile(r"func (?:\([^)]*\) )?(\w+)\(([^)]*)"),
)
LANGUAGES = {ending: language for language in (PYTHON, JAVASCRIPT, RUST, GO) for ending in language.endings}
COMMENT = re.compile(r"^\s*(//|#(?!\[)|\*|/\*)")


class Setting(NamedTuple):
    path: pathlib.Path
    line: int


class Projects:
    """The files of projects, each of which is read once. Places are shown from the root; no project reaches beyond the outermost
    folder, if one is given."""

    def __init__(self, root, outermost=None):
        self.root, self.outermost, self.read = root, outermost, {}

    def speaks_for(self, finding):
        """Returns where another file sets the option on a socket that may be the one of the finding, or None."""
        language = LANGUAGES.get(finding.path.suffix)
        if language is None:
            return None
        text = finding.path.read_text(errors="replace")
        for path, setting, function in self.settings(self.project_of(finding.path), language):
            if path != finding.path and (function is None or re.search(rf"\b{re.escape(function)}\(", text)):
                return setting
        return None

    def project_of(self, path):
        """The nearest folder above that is marked as a project; else the outermost, or the root if it is above, or the file's own."""
        above = [folder for folder in path.parents if self.outermost in (None, folder, *folder.parents)]
        if marked := next((folder for folder in above if any((folder / name).exists() for name in MARKERS)), None):
            return marked
        return self.outermost or (self.root if self.root in path.parents else path.parent)

    def settings(self, project, language):
        key = project, language
        if key not in self.read:
            self.read[key] = [found for path in files(project, language) for found in settings_of(path, language)]
        return self.read[key]


def files(project, language):
    for folder, below, names in os.walk(project):
        below[:] = sorted(set(below) - PASSED_OVER)
        for name in sorted(names):
            path = pathlib.Path(folder) / name
            if path.suffix in language.endings and not TEST.search(name) and path.is_file() and path.stat().st_size <= LARGEST:
                yield path


def settings_of(path, language):
    """Yields the places of a file that set the option on what the file is handed: with the function to be called for it, or None
    where the file opens no socket at all, so that each is handed to it."""
    text = code_of(path, language)
    opens_none = not language.opens.search(text)
    for found in language.sets.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        head = last(language.function, text, found.start())
        on = (found.group(1) or "").split(".")[-1]
        if opens_none:
            yield path, Setting(path, line), None
        elif head and on and on in re.findall(r"\w+", head[1]):
            yield path, Setting(path, line), head[0]


def last(function, text, end):
    """The name and the parameters of the last function that begins before a place."""
    heads = [found for found in function.finditer(text, 0, end)]
    if not heads:
        return None
    *names, parameters = heads[-1].groups()
    return next(name for name in names if name), parameters


def code_of(path, language):
    """The text without what is a comment alone, and without Rust's module of tests; lines stay where they are."""
    text = path.read_text(errors="replace")
    if language is RUST:
        text = re.split(r"(?m)^#\[cfg\(test\)\]\s*\n(?:#\[[^\n]*\n)*\s*mod ", text)[0]
    return "\n".join("" if COMMENT.match(line) else line for line in text.split("\n"))
