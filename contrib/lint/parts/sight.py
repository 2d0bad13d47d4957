"""Whether two writes before a read are in sight of the place that opens a connection: in its file, by what the rules can follow.

Where they are not, the connection is handed to another file, or one function writes and another one reads, and who calls these is
elsewhere. Then it is not accused. What listens is not asked: whoever connects to it may send a second request before the first is answered.
"""

import re

from . import answers, rust_answers

# Messages that are not answered one by one, whoever sends them, and octets that are carried.
RUST_SINK = re.compile(r"\bFramed|\bSinkExt\b|tungstenite|client_async|[wW]eb[sS]ocket|copy_bidirectional\(")
JS_WRITE = re.compile(r"([\w$]+)\)?\??\.write\(")
JS_NO_SOCKET = re.compile(r"(?i)(buf|buffer|fs|file|stdout|stderr|log|logger|hash|cipher|parser|encoder|out|res|response)$")
JS_CARRIES = re.compile(r"\.pipe\(|\bpipeline\(")
JS_LOOP = re.compile(r"(?:\b(?:for|while)\b[^\n]*\{|\.forEach\()[^{}]*(?<![\w.$])(?:this\.|self\.)?_?(?:sock|socket|conn|connection|client|stream)\.write\(")
NOT_IN_SIGHT = "no two writes before a read are in sight: who writes a second time, and when, another function or file says"


def why_not(finding):
    if ".accept" in finding.text or re.search(r"\baccept\(\)|createServer", finding.text):
        return None
    text = finding.path.read_text(errors="replace")
    sees = {"python-socket-with-nagle": of_python, "javascript-socket-with-nagle": of_javascript, "rust-socket-with-nagle": of_rust}.get(finding.rule)
    return NOT_IN_SIGHT if sees and not sees(text, finding.line) else None


def of_python(text, line):
    return not answers.are_apart(text, line)


def of_javascript(text, _line):
    writes = [found for found in JS_WRITE.finditer(text) if not JS_NO_SOCKET.search(found[1])]
    return len(writes) > 1 or bool(JS_CARRIES.search(text) or JS_LOOP.search(text))


def of_rust(text, _line):
    return bool(RUST_SINK.search(rust_answers.code_of(text))) or rust_answers.writes_twice(text)
