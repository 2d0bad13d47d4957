"""Whether a file of Rust's waits for an answer to whatever it writes, before it writes again: as answers.py does for Python, by the text alone.

Functions are followed in the order of their text; both sides of a branch count, one after the other, so that more is found than is. A loop is
gone through twice. What is written by other means, or by several at once, is not followed.
"""

import re

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|b?"(?:[^"\\]|\\.)*"|r#"(?:.*?)"#|b?\'(?:[^\'\\]|\\.)\'', re.S)
TESTS = re.compile(r"(?ms)^#\[cfg\((?:all\()?test\b.*?^\}")
HEAD = re.compile(r"(?P<pub>\bpub\s+)?(?:async\s+|const\s+|unsafe\s+)*\bfn\s+(?P<name>\w+)[^;{]*\{")
LOOP = re.compile(r"\b(?:for\b[^;{]*\bin\b[^{;]*|while\b[^{;]*|loop\s*)\{")
# Several write at once, or somebody else does.
BEYOND = re.compile(r"\bspawn\w*\(|\binto_split\(|\bpoll_write\b|\bimpl[^{]*\bWrite\b[^{]*\{|\bFramed\b|\bcopy(_bidirectional)?\(|\bio::split\(|\bpub\b[^\n]*\bTcpStream\b")
EVENT = re.compile(
    r"""(?x) (?P<open> \bTcpStream::connect\w* \() | (?P<shut> \.shutdown\()
      | (?P<own> (?:\bself\.|\bSelf::|(?<![\w.:])) ) (?P<name> \w+ ) (?: ::<[^>]*> )? \(
      | \. (?P<method> \w+ ) (?: ::<[^>]*> )? \( | (?P<macro> \bwrite(?:ln)? ) ! \( (?! \s* f \b )"""
)
WRITES = {"write", "write_all", "write_vectored", "write_all_vectored", "write_fmt", "send", "send_all", "feed", "write_buf"}
READS = {"read", "read_exact", "read_to_end", "read_until", "read_line", "read_to_string", "recv", "fill_buf", "lines", "read_buf"}
BY_TYPE = re.compile(r"^(?:(?P<read>read)|write)_(?:[ui](?:8|16|32|64|128)|f32|f64)(?:_le)?$")


def are_awaited(text):
    text = TESTS.sub("", NOISE.sub(lambda found: " " if found[0][0] in "/" else '""', text))
    return not BEYOND.search(text) and File(text).is_awaited()


def is_a_write(event):
    return bool(event["macro"]) or event["method"] in WRITES or bool((typed := BY_TYPE.match(event["method"] or "")) and not typed["read"])


class File:
    def __init__(self, text):
        self.functions, self.public = {}, set()
        for head in HEAD.finditer(text):
            self.functions.setdefault(head["name"], []).append(body(text, head.end()))
            if head["pub"]:
                self.public.add(head["name"])
        self.called, self.known = set(), {}
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
            self.known[key] = max(self.of_body(text, unanswered) for text in self.functions[name])
        return self.known[key]

    def of_body(self, text, state):
        at = 0
        while found := LOOP.search(text, at):
            state = self.of_events(text[at : found.end()], state)
            inner = body(text, found.end())
            for _ in range(2):
                state = self.of_body(inner, state)
            at = found.end() + len(inner)
        return self.of_events(text[at:], state)

    def of_events(self, text, state):
        for event in EVENT.finditer(text):
            name = event["name"] or event["method"]
            typed = BY_TYPE.match(name or "")
            if event["open"] or event["shut"]:
                state = 0
            elif name in self.functions and (event["own"] is not None or name not in WRITES | READS):
                self.called.add(name)
                state = self.after(name, state)
            elif is_a_write(event):
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
