"""Whether a file of Rust's waits for an answer to whatever it writes, before it writes again: as answers.py does for Python, by the text alone.

Functions are followed in the order of their text. Of the sides of a branch the one that leaves more unanswered counts; a loop is gone through
twice. What is written by other means, or by several at once, is not followed, nor what is written into a buffer, by its name.
"""

import re

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|b?"(?:[^"\\]|\\.)*"|r#"(?:.*?)"#|b?\'(?:[^\'\\]|\\.)\'', re.S)
TESTS = re.compile(r"(?ms)^#\[cfg\((?:all\()?test\b.*?^\}")
HEAD = re.compile(r"(?P<pub>\bpub\s+)?(?:async\s+|const\s+|unsafe\s+)*\bfn\s+(?P<name>\w+)[^;{]*\{")
BLOCK = re.compile(r"(?P<loop>\b(?:for\b[^;{]*\bin\b[^{;]*|while\b[^{;]*|loop\s*)\{)|\b(?P<match>match)\b[^{;]*\{|\bif\b[^{;]*\{")
ELSE = re.compile(r"\s*else\s*(?P<more>if\b[^{;]*)?\{")
RETURNS = re.compile(r"(?:^|[;{}\s])return\b[^;]*;?\s*$")
# What writes go to that are no socket, by the name before the call.
BUFFER = re.compile(r"(?i)(?:buf|buffer|vec|bytes|out|output|cursor|packet|payload|body|data|message|msg|frame|header|headers|hasher|file|stdout|stderr|line|string|s|f|tx|sender|channel|queue|events?)$")
RECEIVER = re.compile(r"(\w+)(?:\([^()]*\))?(?:\s|\?)*$")
# Several write at once, or somebody else does.
BEYOND = re.compile(r"\bspawn\w*\(|\binto_split\(|\bpoll_write\b|\bimpl[^{]*\bWrite\b[^{]*\{|\bFramed\b|\bcopy(_bidirectional)?\(|\bio::split\(|\bpub\b[^\n]*\bTcpStream\b")
EVENT = re.compile(
    r"""(?x) (?P<open> \bTcpStream::connect\w* \() | (?P<shut> \.shutdown\()
      | (?P<own> (?:\bself\.|\bSelf::|(?<![\w.:])) ) (?P<name> \w+ ) (?: ::<[^>]*> )? \(
      | \. (?P<method> \w+ ) (?: ::<[^>]*> )? \( | (?P<macro> \bwrite(?:ln)? ) ! \( (?! \s* f \b )"""
)
WRITES = {"write", "write_all", "write_vectored", "write_all_vectored", "write_fmt", "send", "send_all", "feed", "write_buf"}
READS = {"read", "read_exact", "read_to_end", "read_until", "read_line", "read_to_string", "recv", "fill_buf", "lines", "read_buf"}
OF_STREAMS = WRITES | READS | {"flush", "shutdown", "close"}
BY_TYPE = re.compile(r"^(?:(?P<read>read)|write)_(?:[ui](?:8|16|32|64|128)|f32|f64)(?:_le)?$")


def are_awaited(text):
    text = code_of(text)
    return not BEYOND.search(text) and File(text).is_awaited()


def writes_twice(text):
    """Whether a function of the file, with those that it calls there, writes again before it reads."""
    file = File(code_of(text))
    for name in file.functions:
        file.after(name, 0)
    return file.writes_twice


def code_of(text):
    """The text without comments, tests and what strings contain."""
    return TESTS.sub("", NOISE.sub(lambda found: " " if found[0][0] in "/" else '""', text))


def is_a_write(event):
    return bool(event["macro"]) or event["method"] in WRITES or bool((typed := BY_TYPE.match(event["method"] or "")) and not typed["read"])


def is_of_a_buffer(event, text):
    """Whether it writes to what is no socket by its name: what the method is called on, or the first argument of the macro."""
    if event["macro"]:
        to = re.match(r"\s*(?:&mut\s+)?(?:\w+\.)*(\w+)", text[event.end() :])
    else:
        to = RECEIVER.search(text[max(0, event.start() - 80) : event.start()])
    return bool(to) and bool(BUFFER.match(to[1]) if len(to[1]) == 1 else BUFFER.search(to[1]))


class File:
    def __init__(self, text):
        self.functions, self.public = {}, set()
        for head in HEAD.finditer(text):
            self.functions.setdefault(head["name"], []).append(body(text, head.end()))
            if head["pub"]:
                self.public.add(head["name"])
        self.called, self.known, self.left, self.followed = set(), {}, [], []
        self.has_written = self.writes_twice = False

    def is_awaited(self):
        for name in self.functions:
            self.after(name, 0)
        entries = [name for name in self.functions if name in self.public or name not in self.called]
        self.known, self.writes_twice = {}, False
        if any([self.after(name, 0) for name in entries]):
            for name in entries:
                self.after(name, 1)
        return self.has_written and not self.writes_twice

    def after(self, name, unanswered):
        """How many writes are unanswered after a call of the function: one or none."""
        key = name, unanswered
        if key not in self.known:
            self.known[key] = unanswered
            before, self.left = self.left, []
            self.followed.append(name)
            self.known[key] = max([*[self.of_body(text, unanswered) for text in self.functions[name]], *self.left])
            self.left = before
            self.followed.pop()
        return self.known[key]

    def is_own(self, name, event):
        """Whether a call is of a function of this file. One of a socket's methods is so only on the object itself; `send` is none of a socket's, but may be a sink's."""
        if name not in self.functions:
            return False
        return event["own"] is not None or name not in OF_STREAMS or name == "send" and name not in self.followed

    def of_body(self, text, state):
        at = 0
        while found := BLOCK.search(text, at):
            state = self.of_events(text[at : found.end()], state)
            inner = body(text, found.end())
            at = found.end() + len(inner) + 1
            if found["loop"]:
                state = self.of_body(inner, self.of_body(inner, state))
            elif found["match"]:
                state = self.of_sides(arms(inner), state)
            else:
                sides, at = if_sides(text, inner, at)
                state = self.of_sides(sides, state)
        return self.of_events(text[at:], state)

    def of_sides(self, sides, state):
        after = [(self.of_body(side, state), RETURNS.search(side)) for side in sides]
        self.left += [one for one, returns in after if returns]
        return max([one for one, returns in after if not returns], default=0 if sides else state)

    def of_events(self, text, state):
        for event in EVENT.finditer(text):
            name = event["name"] or event["method"]
            typed = BY_TYPE.match(name or "")
            if event["open"] or event["shut"]:
                state = 0
            elif self.is_own(name, event):
                self.called.add(name)
                state = self.after(name, state)
            elif is_a_write(event) and not is_of_a_buffer(event, text):
                self.has_written = True
                self.writes_twice |= state > 0
                state = 1
            elif event["method"] in READS or typed:
                state = 0
        return state


def body(text, start):
    """The text from after a brace to its end."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return text[start : found.start()]
    return text[start:]


def if_sides(text, inner, at):
    """The sides of an `if` whose first one is given, one that is empty where no `else` stands, and the place after the last."""
    sides = [inner]
    while found := ELSE.match(text, at):
        sides.append(body(text, found.end()))
        at = found.end() + len(sides[-1]) + 1
        if not found["more"]:
            return sides, at
    return [*sides, ""], at


def arms(text):
    """The right sides of the arms of a `match`, of which this is the inner text."""
    found, depth, begun = [], 0, None
    for mark in re.finditer(r"=>|[(){}\[\],]", text):
        if mark[0] == "=>":
            if not depth and begun is None:
                begun = mark.end()
            continue
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(mark[0], 0)
        if begun is not None and not depth and (mark[0] == "," or mark[0] == "}" and text[begun:].lstrip().startswith("{")):
            found.append(text[begun : mark.end()].strip().rstrip(","))
            begun = None
    return found + ([text[begun:]] if begun is not None else [])
