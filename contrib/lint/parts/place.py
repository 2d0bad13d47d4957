"""What the place of a finding says: a file of the tests or the examples, a function or a branch of datagrams or of Unix sockets."""

import pathlib
import re

# Words of the names of folders and files below the project, and those that say so of a folder alone.
BESIDE = {"test", "tests", "testing", "testutil", "testutils", "testserver", "testlib", "testsuite", "unittest", "unittests", "mock", "mocks", "fuzz",
          "example", "examples", "demo", "demos", "bench", "benches", "benchmark", "benchmarks"}
FOLDERS = {"sample", "samples", "tutorial", "tutorials", "fake", "fakes", "fixtures", "doc", "docs"}
# Made of many sources by a bundler.
BUNDLE = re.compile(r"^(?:chunk|index|main|vendors?)[-.][\w-]{8}\.[cm]?js$|\.bundle\.[cm]?js$")
# The head of a function, a class, a block of Rust's or a branch of `match`, and what it says there.
DATAGRAM = re.compile(r"SOCK_DGRAM|\bUdpSocket\b")
STREAM = re.compile(r"SOCK_STREAM|\bTcp(?:Stream|Listener|Socket)\b")
LOCAL = re.compile(r"AF_UNIX|AF_LOCAL|AF_VSOCK|AF_BLUETOOTH")
OTHER_NAME = re.compile(r"(?i)(?<![a-z])(unix|uds|udp|datagram|dgram|quic|pipe|vsock)|(Unix|Uds|Udp|Datagram|Quic|Pipe|Vsock)(?![a-z])")
CONNECTS = re.compile(r"(?i)connect|socket\(")
CONNECTION = re.compile(r"""['"](?:secureC|c)onnection['"]""")
# A function that looks whether somebody listens, or wakes its own listener at the end; a connection that it makes is for nothing else.
PROBE = re.compile(
    r"""(?x) ^_* (?: drop$ | (?: is | has | can | check | test | probe | try | wait | await | find | get | ping | detect | scan | pick | choose )
        (?: _?for )? (?=_|[A-Z]|$) .* (?i: port | open | ready | alive | reach | listen | avail | running | in_?use | up$ | online | server$ | service$ | health) )"""
)
FUNCTION = {
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"), re.compile(
        r"^(?P<indent>[ \t]*)(?:export |default |static |async |private |public |protected )*(?:function\s*\*?\s*)?(?:(?:const|let|var) )?"
        r"(?!(?:if|for|while|switch|catch|return)\b)(?P<name>\w+)\s*(?:= *(?:async *)?(?:function\b[^\n]*|\([^()\n]*\) *=>) *|\([^()\n]*\)[^\n;]*)\{", re.M)),
    ".py": re.compile(r"^(?P<indent>[ \t]*)(?:async )?def (?P<name>\w+)", re.M),
    ".rs": re.compile(r"^(?P<indent>[ \t]*)(?:pub(?:\([^)]*\))? )?(?:async )?(?:unsafe )?fn (?P<name>\w+)", re.M),
    ".go": re.compile(r"^(?P<indent>)func (?:\([^)]*\) )?(?P<name>\w+)", re.M),
}
OUTER = {".py": re.compile(r"^(?P<indent>[ \t]*)class (?P<name>\w+)", re.M), ".rs": re.compile(r"^(?P<indent>)impl\b(?P<name>[^{\n]*)", re.M)}
# The branch of `match` in which a call stands, on one line or the one before.
BRANCH = re.compile(r"(\S[^\n]*?)=>(?:(?!=>)[^\n;])*\n?(?:(?!=>)[^\n;])*$")


def why_not(finding, root):
    *folders, name = (finding.path.relative_to(root) if root in finding.path.parents else pathlib.Path(finding.path.name)).parts
    beside = [part for part in folders if part.lower() in FOLDERS or words(part) & BESIDE] + [part for part in [name] if words(part) & BESIDE]
    if beside:
        return f"{beside[0]} is of the tests or the examples by its name"
    if BUNDLE.search(name):
        return f"{name} is made of many sources, by its name"
    text = finding.path.read_text(errors="replace")
    at = sum(map(len, text.splitlines(keepends=True)[: finding.line - 1]))
    function = part(FUNCTION, finding, text, at)
    if function and CONNECTS.search(finding.text) and (other := other_kind(function[1], finding.text)):
        return other
    if function and PROBE.search(function[0]) and CONNECTS.search(finding.text):
        return f"{function[0]} only looks whether somebody listens, by its name"
    if finding.text.rstrip("; ").endswith("createServer()") and not CONNECTION.search(text):
        return "it listens, and nobody is given a connection"
    start = text.find(finding.text.split("\n")[0], at)
    if finding.rule == "javascript-socket-with-nagle" and (is_of_a_path(finding, text, start) or is_of_a_name(finding, text, start)):
        return "it is connected to a path, and to no port"
    if finding.rule == "javascript-socket-with-nagle" and is_for_one_message(finding, text, start):
        return "one message is written to it, and then it is ended"
    if finding.rule == "javascript-two-writes" and is_after_a_wait(finding, text, at):
        return "it waits for something of the socket between the two"
    names = [found[0] for found in (function, part(OUTER, finding, text, at)) if found]
    if branch := BRANCH.search(text[max(0, at - 200) : at + len(text[at:].split("\n", 1)[0].split(finding.text.split("\n")[0])[0])]):
        names.append(branch[1])
    if other := next((name for name in names if OTHER_NAME.search(name)), None):
        return f"`{' '.join(other.split())[:60]}` is not TCP's by its name"
    return None


def words(name):
    return set(re.split(r"[_.@-]", name.lower()))


def other_kind(body, call):
    """Why a call in the body of a function opens what is not TCP's, or None."""
    if DATAGRAM.search(body) and not STREAM.search(body):
        return "its function opens sockets of datagrams"
    families = [found for name in set(re.findall(r"\w+", call)) for found in re.findall(rf"\b{name}\b\s*=[^=\n]*\bAF_\w+", body)]
    if families and all(LOCAL.search(one) for one in families):
        return "its family is another one"
    return None


def is_of_a_path(finding, text, at):
    """Whether a call of Node's gets options that have a path, and no port, by the assignments before it."""
    options = re.search(r"\((\w+)\)$", finding.text)
    if not options:
        return False
    name, before = re.escape(options[1]), text[max(0, at - 1500) : at]
    made = max([found.end() for found in re.finditer(rf"\b{name}\s*=(?!=)", before)], default=None)
    if made is None:
        return False
    since = before[made:]
    branch = max(since.rfind("else{"), since.rfind("else {"), since.rfind("{\n", 0, since.find(f"{options[1]}.") + 1))
    return bool(re.search(rf"\b{name}\.path\s*=", since[max(0, branch) :])) and not re.search(rf"\b{name}\.port\s*=", since)


def is_of_a_name(finding, text, at):
    """Whether a new socket of Node's is connected to a pipe, or a server listens on one, by the name of what it is given."""
    made = re.search(r"([\w.$]+)\s*=\s*$", text[:at][-200:])
    then = "connect" if "Socket(" in finding.text else "listen" if "createServer(" in finding.text else None
    given = re.findall(rf"(?<![\w.$]){re.escape(made[1])}\.{then}\(([^,)]*)", text) if made and then else []
    return bool(given) and all(re.search("(?i)pipe|path", one) for one in given)


def is_for_one_message(finding, text, at):
    """Whether a name of one function alone is written to once, ended there, and handed to nobody."""
    made = re.search(r"\b(?:let|const|var)\s+(\w+)\s*=\s*$", text[:at][-200:])
    function = part(FUNCTION, finding, text, at)
    if not made or not function:
        return False
    name = re.escape(made[1])
    uses = re.findall(rf"(?<![\w.$]){name}\b(?:\.(\w+)\()?", function[1])
    handed = uses.count("") > 1 + len(re.findall(rf"(?<![\w.$]){name}\.(?!\w+\()", function[1]))
    looped = re.search(rf"\b(?:for|while)\b[^{{;]*[({{][^}}]*(?<![\w.$]){name}\.write\(", function[1])
    return uses.count("write") == 1 and not looped and not handed and "pipe" not in uses and bool({"end", "destroy"} & set(uses))


def is_after_a_wait(finding, text, at):
    """Whether the function waits for something of the socket between this write and the one before."""
    on = re.match(r"\s*([\w.$]+)\.write\(", finding.text)
    before = text.rfind(f"{on[1]}.write(", 0, at) if on else -1
    return before >= 0 and bool(re.search(rf"\bawait\b[^;\n]*\b{re.escape(on[1])}\b", text[before:at]))


def part(heads, finding, text, at):
    """The name and the text of the innermost part with such a head around a place, by what is indented; None if there is none."""
    pattern = heads.get(finding.path.suffix)
    end_of_line = text.find("\n", at)
    for head in reversed(list(pattern.finditer(text, 0, end_of_line if end_of_line >= 0 else len(text))) if pattern else []):
        indent = head["indent"].replace("\t", "    ")
        own = re.compile(rf"^[ \t]{{0,{len(head['indent'])}}}(?![ \t\n]|[)\]}}]|where\b|#)", re.M)
        closed = own.search(text, text.find("\n", head.end()) + 1)
        if closed is None or closed.start() > at:
            return head["name"], text[head.start() : closed.start() if closed else len(text)]
    return None
